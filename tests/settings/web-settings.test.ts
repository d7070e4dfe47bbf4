import { describe, expect, it } from "vitest";
import { loadConfig } from "@millrace/engine/config/config";
import { withStoredKeys } from "@millrace/engine/config/web-settings";

const webOf = (environment: Record<string, string>) => loadConfig(environment).web;
const google = { GOOGLE_SEARCH_API_KEY: "k", GOOGLE_SEARCH_CX: "c" };
const bing = { BING_SEARCH_API_KEY: "k" };
const searxng = { SEARXNG_URL: "http://127.0.0.1:8888" };

describe("the settings of the web", () => {
  it("are off by themselves", () => {
    expect(webOf({})).toMatchObject({ search: undefined, opensPages: false, allowed: [] });
  });

  it("choose the one engine that is set up, and then pages may be opened unless the operator says no", () => {
    expect(webOf(google).search).toMatchObject({
      engine: "google",
      address: "https://www.googleapis.com/customsearch/v1",
    });
    expect(webOf(bing).search).toMatchObject({ engine: "bing", address: "https://api.bing.microsoft.com/v7.0/search" });
    expect(webOf(searxng).search).toEqual({ engine: "searxng", address: "http://127.0.0.1:8888" });
    expect(webOf(searxng).opensPages).toBe(true);
    expect(webOf({ ...searxng, MILLRACE_WEB_FETCH: "off" }).opensPages).toBe(false);
    expect(webOf({ MILLRACE_WEB_FETCH: "on" })).toMatchObject({ search: undefined, opensPages: true });
    expect(webOf({ MILLRACE_WEB_ALLOW: "wiki:8080, 10.0.0.7" }).allowed).toEqual(["wiki:8080", "10.0.0.7"]);
  });

  it("have one engine at most: of several the one that is named (SEARCH-01)", () => {
    expect(webOf({ ...google, ...bing, MILLRACE_SEARCH: "bing" }).search?.engine).toBe("bing");
    expect(webOf({ ...google, ...bing, MILLRACE_SEARCH: "off" }).search).toBeUndefined();
    expect(() => webOf({ ...google, ...searxng })).toThrow("Several search engines are set up (google, searxng)");
  });

  it.each<[string, Record<string, string>, string[], string | undefined, string | undefined]>([
    ["sets up Bing, which wants nothing else", {}, ["bing"], "bing", "stored"],
    ["sets up Google only where its engine is known", {}, ["google"], undefined, undefined],
    ["sets up Google with its engine", { GOOGLE_SEARCH_CX: "c" }, ["google"], "google", "stored"],
    ["sets up the first of several", { GOOGLE_SEARCH_CX: "c" }, ["bing", "google"], "google", "stored"],
    [
      "sets up the one that is named",
      { GOOGLE_SEARCH_CX: "c", MILLRACE_SEARCH: "bing" },
      ["bing", "google"],
      "bing",
      "stored",
    ],
    [
      "is no one's who is not named",
      { GOOGLE_SEARCH_CX: "c", MILLRACE_SEARCH: "google" },
      ["bing"],
      undefined,
      undefined,
    ],
    ["goes before that of the environment", bing, ["bing"], "bing", "stored"],
    ["changes nothing of an engine that is set up", searxng, ["bing"], "searxng", undefined],
    ["does not choose another engine", bing, ["google"], "bing", "k"],
    ["turns nothing on that is off", { ...bing, MILLRACE_SEARCH: "off" }, ["bing"], undefined, undefined],
  ])("a stored key %s", (_, environment, names, engine, apiKey) => {
    const keys = Object.fromEntries(names.map((name) => [`${name.toUpperCase()}_SEARCH_API_KEY`, "stored"]));
    const now = withStoredKeys(webOf(environment), keys);
    expect([now.search?.engine, now.search?.apiKey]).toEqual([engine, apiKey]);
    expect(now.opensPages).toBe(engine !== undefined);
    expect(withStoredKeys(webOf({ ...environment, MILLRACE_WEB_FETCH: "off" }), keys).opensPages).toBe(false);
  });

  it.each([
    [{ MILLRACE_SEARCH: "google" }, "MILLRACE_SEARCH is google, which is not set up."],
    [{ MILLRACE_SEARCH: "searxng" }, "MILLRACE_SEARCH is searxng, which is not set up."],
    [{ ...bing, MILLRACE_SEARCH: "searxng" }, "MILLRACE_SEARCH is searxng, which is not set up."],
    [{ GOOGLE_SEARCH_API_KEY: "k" }, "belong together"],
    [{ MILLRACE_SEARCH: "yahoo" }, "MILLRACE_SEARCH"],
    [{ SEARXNG_URL: "ftp://example.com" }, "SEARXNG_URL"],
  ])("are refused where they cannot be meant: %j", (environment, message) => {
    expect(() => webOf(environment)).toThrow(message);
  });
});
