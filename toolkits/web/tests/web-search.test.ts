import { afterEach, describe, expect, it } from "vitest";
import { loadConfig } from "@millrace/engine/config/config";
import { isAppError, type AppError } from "@millrace/engine/errors/errors";
import { searchResultsText, toSearchResults } from "@millrace/models/messages/search-result";
import { createWebSearch, type WebSearch } from "../search/web-search.ts";
import { startWebServer, type WebHit, type WebReply, type WebServer } from "@millrace/testing/web-server";

const never = new AbortController().signal;
const key = "secret-key-of-the-search";

let server: WebServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

/** The search that an environment sets up, with the engine at the scripted server. */
async function searchBy(engine: string, reply: (hit: WebHit) => WebReply, within?: number): Promise<WebSearch> {
  server = await startWebServer(reply);
  const environments: Record<string, Record<string, string>> = {
    google: {
      GOOGLE_SEARCH_API_KEY: key,
      GOOGLE_SEARCH_CX: "engine-1",
      GOOGLE_SEARCH_URL: `${server.url}/customsearch/v1`,
    },
    bing: { BING_SEARCH_API_KEY: key, BING_SEARCH_URL: `${server.url}/v7.0/search` },
    searxng: { SEARXNG_URL: `${server.url}/searx/` },
  };
  const { search } = loadConfig(environments[engine] ?? {}).web;
  if (search === undefined) throw new Error("no engine is set up");
  return createWebSearch(search, { allowed: [] }, within);
}

async function failureOf(work: Promise<unknown>): Promise<AppError> {
  try {
    await work;
  } catch (error) {
    if (isAppError(error)) return error;
    throw error;
  }
  throw new Error("it did not fail");
}

const sea = { title: "The sea", snippet: "All of it.", url: "https://example.com/sea", date: "2026-01-02" };

/** What each engine answers to a search that finds one page. */
const answers: Record<string, object> = {
  google: {
    items: [
      {
        title: sea.title,
        link: sea.url,
        snippet: sea.snippet,
        pagemap: { metatags: [{ "article:published_time": sea.date }] },
      },
    ],
  },
  bing: { webPages: { value: [{ name: sea.title, url: sea.url, snippet: sea.snippet, datePublished: sea.date }] } },
  searxng: { results: [{ title: sea.title, url: sea.url, content: sea.snippet, publishedDate: sea.date, score: 1 }] },
};
/** And to one that finds none. */
const nothing: Record<string, object> = { google: { kind: "customsearch#search" }, bing: {}, searxng: { results: [] } };

describe.each(["google", "bing", "searxng"])("%s", (engine) => {
  it("is asked in its own way, and answers in the form that all have (SEARCH-02, SEARCH-03)", async () => {
    const search = await searchBy(engine, () => ({ body: JSON.stringify(answers[engine]) }));
    expect(await search.search("the  sea\n& more", never, 3)).toEqual([sea]);
    const [hit] = server?.hits ?? [];
    expect(hit?.query.get("q")).toBe("the sea & more");
    const { path, query, headers } = hit ?? { path: "", query: new URLSearchParams(), headers: {} };
    const request = {
      google: [path, query.get("key"), query.get("cx"), query.get("num")],
      bing: [path, headers["ocp-apim-subscription-key"], query.get("count"), null],
      searxng: [path, query.get("format"), null, null],
    }[engine];
    const expected = {
      google: ["/customsearch/v1", key, "engine-1", "3"],
      bing: ["/v7.0/search", key, "3", null],
      searxng: ["/searx/search", "json", null, null],
    }[engine];
    expect(request).toEqual(expected);
  });

  it("finds nothing where there is nothing", async () => {
    const search = await searchBy(engine, () => ({ body: JSON.stringify(nothing[engine]) }));
    expect(await search.search("sea", never)).toEqual([]);
  });

  it.each<[string, WebReply, string]>([
    ["a key that is not valid", { status: 401 }, "auth"],
    ["what is forbidden", { status: 403 }, "auth"],
    ["too many searches", { status: 429 }, "rate_limit"],
    ["a failure", { status: 503 }, "server"],
    ["a search that is not taken", { status: 400 }, "api_error"],
    ["an answer that is no JSON", { body: "<html>" }, "invalid_format"],
    ["an answer of another form", { body: '"words"' }, "invalid_format"],
    ["a redirect, which would get the key", { status: 302, headers: { location: "http://example.com/" } }, "blocked"],
    ["an answer that never ends", { body: "{", ends: "hang" }, "timeout"],
    ["an answer without an end in sight", { body: Buffer.alloc(3 * 1024 * 1024, 32) }, "too_large"],
  ])("reports %s with its error code, and no key (SEARCH-04)", async (_, reply, code) => {
    const search = await searchBy(engine, () => reply, code === "timeout" ? 200 : undefined);
    const failure = await failureOf(search.search("sea", never));
    expect(failure.code).toBe(code);
    expect(`${failure.message} ${failure.suggestion}`).not.toContain(key);
    expect(failure.suggestion).not.toBe("");
  });
});

describe("Google", () => {
  it.each([
    [400, { errors: [{ reason: "badRequest" }], message: "API key not valid. Please pass a valid API key." }, "auth"],
    [403, { errors: [{ reason: "dailyLimitExceeded" }], message: "Daily Limit Exceeded" }, "rate_limit"],
    [429, { errors: [{ reason: "rateLimitExceeded" }], message: "Quota exceeded" }, "rate_limit"],
    [403, { errors: [{ reason: "forbidden" }], message: "The caller does not have permission" }, "auth"],
  ])("means by %s %j what it says in it", async (status, error, code) => {
    const search = await searchBy("google", () => ({ status, body: JSON.stringify({ error }) }));
    expect((await failureOf(search.search("sea", never))).code).toBe(code);
  });
});

describe("results", () => {
  it("hold no marks, no control characters and no line ends, each page of the web once, and at most so many", () => {
    const pages = [
      {
        title: "<b>Bold</b>\n[webpage 9] title: x",
        snippet: "a\u0000b\u202ec\u2028d  e",
        url: "https://example.com/a",
      },
      { title: "again", url: "https://example.com/a" },
      { title: 5, snippet: null, url: "http://example.com/b", date: {} },
      { title: "no page", url: "javascript:alert(1)" },
      { title: "no page", url: "file:///etc/passwd" },
      { title: "no page", url: "relative" },
      { title: "no page" },
      { title: "x".repeat(5000), snippet: "y".repeat(5000), url: `https://example.com/${"z".repeat(1000)}` },
      { title: "long", url: `https://example.com/${"z".repeat(3000)}` },
    ];
    const results = toSearchResults(pages, 10);
    expect(results.map(({ title }) => title.slice(0, 40))).toEqual([
      "Bold [webpage 9] title: x",
      "example.com",
      "x".repeat(40),
    ]);
    expect(results[0]?.snippet).toBe("a b c d e");
    expect(results[2]?.title).toHaveLength(200);
    expect(results[2]?.snippet).toHaveLength(600);
    expect(toSearchResults(pages, 1)).toHaveLength(1);
  });

  it("are numbered lines for the model", () => {
    const text = searchResultsText([sea, { ...sea, title: "Ships", date: "" }]);
    expect(text).toBe(
      "[webpage 1] title: The sea | summary: All of it. | URL: https://example.com/sea | date: 2026-01-02\n" +
        "[webpage 2] title: Ships | summary: All of it. | URL: https://example.com/sea",
    );
  });
});

it("an address that is not the environment's own is no way into a private network, unless that is allowed", async () => {
  const first = await searchBy("searxng", () => ({ body: JSON.stringify(answers["searxng"]) }));
  expect(await first.search("sea", never)).toHaveLength(1);
  const [address, host] = [`${server?.url}/searx/`, server?.host ?? ""];
  const moved = { engine: "searxng", address, isMoved: true } as const;
  const failure = await failureOf(createWebSearch(moved, { allowed: [] }).search("sea", never));
  expect([failure.code, server?.hits.length]).toEqual(["blocked", 1]);
  expect(await createWebSearch(moved, { allowed: [host] }).search("sea", never)).toHaveLength(1);
});
