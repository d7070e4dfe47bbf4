import { stat } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadConfig } from "@millrace/engine/config/config";
import { startModelServer, type ModelServer } from "@millrace/testing/model-server";
import { startTestServer, type TestServer } from "../../../tests/support/test-server.ts";
import { startWebServer, type WebServer } from "@millrace/testing/web-server";

/** What of an answer these tests read. */
interface Options {
  model: string;
  choices: string[];
  engine: string | null;
  opens_pages: boolean;
  general: { name: string; is_available: boolean; help: string[] }[];
  provider: { name: string; is_available: boolean; help: string[] }[];
}

let plain: TestServer;
let server: TestServer;
let web: WebServer;
let model: ModelServer;

beforeAll(async () => {
  web = await startWebServer(({ path }) =>
    path === "/search"
      ? {
          body: JSON.stringify({ results: [{ title: "Tides", url: "https://example.com/tides", content: "At one." }] }),
        }
      : { headers: { "content-type": "text/html" }, body: "<title>Tides</title><p>High water at one.</p>" },
  );
  model = await startModelServer({ handler: () => ({ text: "At one, it says." }) });
  plain = await startTestServer();
  const graphs = new URL("../../../langgraph.json", import.meta.url).pathname;
  server = await startTestServer({
    graphs,
    model: "openai:scripted",
    openai: { apiKey: "test-key", baseUrl: model.url },
    web: loadConfig({ SEARXNG_URL: web.url, MILLRACE_WEB_ALLOW: web.host }).web,
  });
});
afterAll(async () => {
  await Promise.all([plain.remove(), server.remove()]);
  await Promise.all([web.close(), model.close()]);
});

const optionsOf = async (one: TestServer, path = "/web-search", language = "en"): Promise<Options> =>
  (await (await one.send("GET", path, undefined, { "accept-language": language })).json()) as Options;

describe("the choices of web search", () => {
  it("are listed for the requested model, with what the others need, in two languages (SEARCH-08)", async () => {
    const options = await optionsOf(server);
    expect(options).toMatchObject({
      model: "openai:scripted",
      choices: ["off", "general"],
      engine: "searxng",
      opens_pages: true,
    });
    expect(options.general.map(({ name, is_available }) => [name, is_available])).toEqual([
      ["google", false],
      ["bing", false],
      ["searxng", true],
    ]);
    const [google, bing] = options.general.map(({ help }) => help.join());
    expect(google).toMatch(/GOOGLE_SEARCH_API_KEY.*GOOGLE_SEARCH_CX.*100 searches a day are free/u);
    expect(bing).toMatch(/BING_SEARCH_API_KEY.*1,000 searches a month are free/u);
    const glm = await optionsOf(server, "/web-search?model=zhipu:glm-4.7", "zh");
    expect(glm.choices).toEqual(["off", "general", "provider"]);
    expect(glm.provider).toMatchObject([{ name: "zhipu", is_available: true }]);
    for (const { help } of [...options.general, ...options.provider])
      expect(help.join()).toMatch(/^[\p{ASCII}]{40,}$/u);
    expect(glm.general.map(({ help }) => /每[天月]可免费查询 (\d+) 次/u.exec(help.join())?.[1])).toEqual([
      "100",
      "1000",
      undefined,
    ]);
    for (const { help } of [...glm.general, ...glm.provider]) expect(help.join()).toMatch(/\p{Script=Han}{4}/u);
  });

  it("are only off where nothing is set up", async () => {
    expect(await optionsOf(plain)).toMatchObject({ choices: ["off"], engine: null, opens_pages: false });
    const tools = (await (await plain.send("GET", "/tools")).json()) as { name: string; is_default: boolean }[];
    const ofWeb = tools.filter(({ name }) => name.startsWith("web_"));
    expect(ofWeb.map(({ name, is_default }) => [name, is_default])).toEqual([
      ["web_search", false],
      ["web_fetch", false],
      ["web_crawl", false],
    ]);
  });
});

describe("the key of a search engine", () => {
  const key = "canary-of-the-search-0123456789";
  let bing: TestServer;
  let engine: WebServer;
  beforeAll(async () => {
    engine = await startWebServer(() => ({
      body: JSON.stringify({
        webPages: { value: [{ name: "Tides", url: "https://example.com/tides", snippet: "One." }] },
      }),
    }));
    const keys = ["ada", "admin"].map((owner) => ({ owner, key: `${owner}-key` }));
    const settings = loadConfig({ BING_SEARCH_URL: `${engine.url}/v7.0/search` }).web;
    bing = await startTestServer({ web: settings, apiKeys: keys });
  });
  afterAll(async () => {
    await bing.remove();
    await engine.close();
  });
  const send = (method: string, path: string, body?: unknown, owner = "admin"): Promise<Response> =>
    bing.send(method, path, body, { "x-api-key": `${owner}-key` });
  const json = async (method: string, path: string, body?: unknown, owner = "admin"): Promise<unknown> =>
    await (await send(method, path, body, owner)).json();
  const place = "/web-search/bing/key";

  it("goes in and never comes out, counts from the next search on, and is forgotten (SEC-01)", async () => {
    expect(await json("GET", "/web-search")).toMatchObject({ engine: null, choices: ["off"], opens_pages: false });
    const shown = { name: "BING_SEARCH_API_KEY", is_set: true, source: "file", shown: "…6789" };
    expect(await json("PUT", place, { key })).toEqual(shown);
    const { mode } = await stat(join(bing.config.dataDir, "credentials.json"));
    expect(mode & 0o777).toBe(0o600);
    const after = (await json("GET", "/web-search")) as { general: unknown[] };
    expect(after).toMatchObject({ engine: "bing", choices: ["off", "general"], opens_pages: true });
    expect(after.general).toMatchObject([
      { name: "google", is_available: false, key: { is_set: false, source: null, shown: null } },
      { name: "bing", is_available: true, key: shown },
      { name: "searxng", is_available: false, key: null },
    ]);
    const tools = (await json("GET", "/tools")) as { name: string; is_default: boolean }[];
    expect(tools.find(({ name }) => name === "web_search")).toMatchObject({ is_default: true });
    const thread = (await json("POST", "/threads", { metadata: { graph_id: "counter" } })) as { thread_id: string };
    const ran = await json("POST", `/threads/${thread.thread_id}/tools/web_search/run`, { args: { query: "tides" } });
    expect(JSON.stringify(ran)).toContain("https://example.com/tides");
    expect(engine.hits.at(-1)?.headers["ocp-apim-subscription-key"]).toBe(key);
    const said = ["/web-search", "/tools", "/openapi.json", "/providers", `/threads/${thread.thread_id}/state`];
    const texts = await Promise.all(said.map(async (path) => await (await send("GET", path)).text()));
    expect(texts.join("") + JSON.stringify(ran)).not.toContain(key);
    expect(await json("GET", "/web-search", undefined, "ada")).toMatchObject({
      general: [{}, { key: { is_set: true, shown: null } }, {}],
    });
    expect(await json("DELETE", place)).toMatchObject({ is_set: false, source: null });
    expect(await json("GET", "/web-search")).toMatchObject({ engine: null, opens_pages: false });
  });

  it.each<[string, string, string, unknown, [number, string]]>([
    ["of others than the administrator", "ada", place, { key: "a-key" }, [403, "owner admin"]],
    [
      "for an engine that wants none",
      "admin",
      "/web-search/searxng/key",
      { key: "a-key" },
      [400, "searxng wants no key"],
    ],
    ["for an unknown engine", "admin", "/web-search/yahoo/key", { key: "a-key" }, [400, "engine"]],
    ["that is no key", "admin", place, { key: "canary two words" }, [400, "expected up to 1000 visible"]],
  ])("is not taken: one %s", async (_, owner, path, body, [status, text]) => {
    const refused = await send("PUT", path, body, owner);
    const said = await refused.text();
    expect([refused.status, said]).toEqual([status, expect.stringContaining(text)]);
    expect(said).not.toContain("canary");
    expect((await send("DELETE", place, undefined, "ada")).status).toBe(403);
  });
});

describe("the key of a search engine that the environment has", () => {
  it.each([
    ["searches", "bing"],
    ["is set up beside the one that searches", "searxng"],
    ["is switched off", "off"],
  ])("is reported as set where its engine %s, and never shown", async (_, chosen) => {
    const { web, given } = loadConfig({
      MILLRACE_SEARCH: chosen,
      BING_SEARCH_API_KEY: "canary-of-bing-0123456789",
      SEARXNG_URL: "http://127.0.0.1:9",
    });
    const one = await startTestServer({ web, given });
    try {
      const text = await (await one.send("GET", "/web-search")).text();
      const { general } = JSON.parse(text) as { general: unknown[] };
      const shown = { name: "BING_SEARCH_API_KEY", is_set: true, source: "environment", shown: "…6789" };
      expect(general).toMatchObject([{ key: { is_set: false } }, { key: shown }, { key: null }]);
      expect(text).not.toContain("canary");
      if (chosen === "bing") {
        await one.send("PUT", "/web-search/bing/key", { key: "stored-0123456789" });
        const moved = await one.send("PATCH", "/settings", {
          BING_SEARCH_URL: "https://search.example.com/v7.0/search",
        });
        expect(moved.status).toBe(200);
        const forgotten = await one.send("DELETE", "/web-search/bing/key");
        expect(await forgotten.json()).toMatchObject({ is_set: false });
      }
    } finally {
      await one.remove();
    }
  });
});

describe("a run over HTTP that wants the web searched", () => {
  it("is streamed as searching, found, answered, and the thread keeps its sources", async () => {
    const { thread_id } = await server.client.threads.create();
    const seen: string[] = [];
    const stream = server.client.runs.stream(thread_id, "agent", {
      input: { messages: [{ role: "user", content: "when is high water" }] },
      context: { mode: "free_work", web_search: "general" },
      streamMode: ["messages-tuple", "custom"],
    });
    for await (const { event, data } of stream) {
      if (event === "messages") seen.push("words");
      // Our own events have a type.
      const type = (data as { type?: unknown }).type;
      if (event === "custom" && typeof type === "string" && type.startsWith("web_search")) seen.push(type);
    }
    expect([...new Set(seen)]).toEqual(["web_search_started", "web_search_complete", "words"]);
    const listed: unknown = await (await server.send("GET", `/threads/${thread_id}/messages`)).json();
    expect(JSON.stringify(listed)).toContain('"url":"https://example.com/tides"');
    const text = await (await server.send("GET", `/threads/${thread_id}/export?format=markdown`)).text();
    expect(text).toContain("Found on the web: Tides");
  });

  it("may open a page by hand that the operator has named, and no other of this machine", async () => {
    const { thread_id } = await server.client.threads.create({ graphId: "agent" });
    const run = async (url: string) =>
      (await (await server.send("POST", `/threads/${thread_id}/tools/web_fetch/run`, { args: { url } })).json()) as {
        result: { success: boolean; content: string; errorType?: string };
      };
    expect((await run(web.url)).result.content).toContain("High water at one.");
    expect((await run(`${server.url}/threads`)).result).toMatchObject({ success: false, errorType: "blocked" });
  });
});
