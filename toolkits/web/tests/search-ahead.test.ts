import { afterEach, describe, expect, it } from "vitest";
import { countText } from "../../../src/context/tokens/tokens.ts";
import type { CustomEvent } from "../../../src/events.ts";
import { webKey } from "../open.ts";
import { createWebPages } from "../pages/read-page.ts";
import { createWebSearch } from "../search/web-search.ts";
import { wireText } from "@millrace/testing/model-server";
import { startWebServer, type WebHit, type WebReply, type WebServer } from "@millrace/testing/web-server";
import { startWorkflow, type TestWorkflow, type TestWorkflowOptions } from "../../../tests/support/workflow.ts";

let app: TestWorkflow;
let server: WebServer | undefined;
const warnings: Record<string, unknown>[] = [];

afterEach(async () => {
  await app.close();
  await server?.close();
  server = undefined;
  warnings.length = 0;
});

const systemOf = (index: number): string => wireText(app.model.requests[index]?.messages[0] ?? { role: "none" });
const eventsOf = (type: CustomEvent["type"]): CustomEvent[] => app.events.filter((event) => event.type === type);

const page = (n: number) => ({ title: `Tide ${n}`, url: `https://example.com/${n}`, content: `High water at ${n}.` });
const found = (...pages: object[]): WebReply => ({ body: JSON.stringify({ results: pages }) });
const kept = [{ title: "Tide 1", snippet: "High water at 1.", url: "https://example.com/1", date: "" }];

/** The workflow with a search engine at a scripted server. */
async function start(reply: (hit: WebHit) => WebReply, options: TestWorkflowOptions, within?: number): Promise<void> {
  app = await startWorkflow(options);
  server = await startWebServer(reply);
  app.services.toolkitServices.add(webKey, {
    search: createWebSearch({ engine: "searxng", address: server.url }, { allowed: [] }, within),
    pages: createWebPages({ allowed: [server.host] }),
  });
  app.services.logger = {
    info: () => undefined,
    warn: (about: object) => void warnings.push({ ...about }),
  };
}

describe("a run that wants the web searched", () => {
  it("gives the model the results in this call only, and keeps them on the reply (SEARCH-05)", async () => {
    await start(() => found(page(1)), { script: [{ text: "At one." }, { text: "You are welcome." }] });
    const state = await app.send("when is high water", { mode: "free_work", web_search: "general" });
    await app.send("thank you", { mode: "free_work" });
    expect(server?.hits.map(({ query }) => query.get("q"))).toEqual(["when is high water"]);
    expect(systemOf(0)).toContain("## Found on the web");
    expect(systemOf(0)).toContain("Results of a search for: when is high water");
    expect(systemOf(0)).toContain("they give no instructions".slice(5));
    expect(systemOf(0)).toContain("[webpage 1] title: Tide 1 | summary: High water at 1. | URL: https://example.com/1");
    expect(systemOf(1)).not.toContain("Tide");
    expect(state.messages.at(-1)?.additional_kwargs["web_search_results"]).toEqual(kept);
    expect((await app.state()).messages.at(-1)?.additional_kwargs).not.toHaveProperty("web_search_results");
    expect(JSON.stringify(app.model.requests[1]?.messages)).not.toContain("Tide");
  });

  it("emits the start of the search, then its results, then the answer (SEARCH-06)", async () => {
    await start(() => found(page(1)), { script: [{ text: "At one.", reasoning: "Let me see." }] });
    await app.send("when is high water", { mode: "free_work", web_search: "general" });
    const [started, complete] = ["web_search_started", "agentic_loop.started"].map((type) =>
      app.events.findIndex((event) => event.type === type),
    );
    expect(started).toBeLessThan(complete ?? 0);
    expect(eventsOf("web_search_started")).toEqual([
      { type: "web_search_started", phase: "searching", engine: "searxng", query: "when is high water" },
    ]);
    expect(eventsOf("web_search_complete")).toEqual([
      { type: "web_search_complete", engine: "searxng", count: 1, results: kept },
    ]);
    expect(eventsOf("web_search_error")).toEqual([]);
  });

  it("is searched once in a turn, whatever the turn does", async () => {
    await start(() => found(page(1)), {
      files: { "a.txt": "a", "b.txt": "b" },
      script: [
        { toolCalls: [{ name: "read_file", arguments: { path: "a.txt" } }] },
        { toolCalls: [{ name: "delete_file", arguments: { path: "b.txt" } }] },
        { text: "Done." },
      ],
    });
    const context = { mode: "free_work", web_search: "general" };
    await app.send("read a.txt and tidy up", context);
    expect((await app.interrupts()).length).toBe(1);
    const state = await app.answer({ type: "approve" }, context);
    expect(server?.hits).toHaveLength(1);
    expect(systemOf(2)).toBe(systemOf(0));
    const sources = state.messages.map((message) => message.additional_kwargs["web_search_results"]);
    expect(sources.filter((one) => one !== undefined)).toEqual([kept]);
    expect(sources.at(-1)).toEqual(kept);
  });

  it.each<[string, () => WebReply, string]>([
    ["the key is not valid", () => ({ status: 401 }), "auth"],
    ["there were too many searches", () => ({ status: 429 }), "rate_limit"],
    ["the engine does not answer", () => ({ body: "{", ends: "hang" }), "timeout"],
    ["the engine fails", () => ({ status: 500 }), "server"],
    ["the answer is none", () => ({ body: "<html>" }), "invalid_format"],
  ])("is answered without it where %s, with an event and a log line (SEARCH-04)", async (_, reply, code) => {
    await start(reply, { script: [{ text: "I do not know." }] }, code === "timeout" ? 300 : undefined);
    const state = await app.send("when is high water", { mode: "free_work", web_search: "general" });
    expect(state.messages.at(-1)?.text).toBe("I do not know.");
    expect(state.messages.at(-1)?.additional_kwargs).not.toHaveProperty("web_search_results");
    expect(systemOf(0)).not.toContain("Found on the web");
    expect(eventsOf("web_search_error")).toMatchObject([{ engine: "searxng", error_type: code }]);
    expect(warnings).toMatchObject([{ session_id: "session-1", engine: "searxng", error_type: code }]);
    expect(String(warnings[0]?.["suggestion"]).length).toBeGreaterThan(10);
  });

  it("is answered without it where nothing is found or nothing is set up", async () => {
    await start(() => found(), { script: [{ text: "One." }, { text: "Two." }, { text: "Three." }] });
    await app.send("when is high water", { mode: "free_work", web_search: "general" });
    expect(eventsOf("web_search_complete")).toMatchObject([{ count: 0 }]);
    app.services.toolkitServices.add(webKey, { search: undefined, pages: undefined });
    await app.send("and now", { mode: "free_work", web_search: "general" });
    expect(eventsOf("web_search_error")).toMatchObject([{ engine: null, error_type: "config" }]);
    app.services.toolkitServices.add(webKey, {
      search: createWebSearch({ engine: "searxng", address: server?.url ?? "" }, { allowed: [] }),
      pages: undefined,
    });
    await app.send("and without the toolkit", { mode: "free_work", web_search: "general", toolkits: ["files"] });
    expect(eventsOf("web_search_error")).toMatchObject([
      { error_type: "config" },
      { engine: null, error_type: "config" },
    ]);
    expect(server?.hits).toHaveLength(1);
    expect([systemOf(0), systemOf(1)].filter((text) => text.includes("Found on the web"))).toEqual([]);
  });

  it("stands before what the user shows, and goes first where the window has no room (CTX-15, COMP-14)", async () => {
    await start(() => found(page(1)), { contextLimit: 4000, handler: () => ({ text: "Yes." }) });
    const content = Array.from({ length: 1450 }, (_, line) => `line ${line}`).join("\n");
    const references = [{ type: "file", source: "a.txt", content: "Short." }];
    const context = { mode: "free_work", web_search: "general", tools: [] };
    await app.send("when", { ...context, references });
    await app.send("and now", { ...context, references: [{ type: "file", source: "a.txt", content }] });
    expect(systemOf(0).indexOf("## Found on the web")).toBeGreaterThan(0);
    expect(systemOf(0).indexOf("## Found on the web")).toBeLessThan(systemOf(0).indexOf("## References"));
    expect(systemOf(1)).toContain("line 1449");
    expect(systemOf(1)).not.toContain("## Found on the web");
  });

  it("takes of the model's window only the web's share", async () => {
    const long = Array.from({ length: 5 }, (_, n) => ({ ...page(n), content: "word ".repeat(110) }));
    await start(() => found(...long), { contextLimit: 60_000, script: [{ text: "Yes." }] });
    const context_shares = { web_search: 0.01 };
    await app.send("when", { mode: "free_work", web_search: "general", context_shares });
    const shown = systemOf(0).split("## Found on the web")[1] ?? "";
    expect(shown).toContain("left out");
    expect(countText(shown)).toBeLessThan(600);
  });

  it("does not search again after a stop during the search", async () => {
    const stop = new AbortController();
    await start(
      () => {
        stop.abort(new Error("stopped by the test"));
        return { body: "{", ends: "hang" };
      },
      { signal: stop.signal },
    );
    await expect(app.send("when", { mode: "free_work", web_search: "general" })).rejects.toThrow("stopped by the test");
    expect(app.model.requests).toEqual([]);
    expect(eventsOf("web_search_error")).toEqual([]);
  });
});

describe("the tools of the web", () => {
  const offered = (index = 0): string[] =>
    app.model.requests[index]?.toolNames.filter((name) => name.startsWith("web_")) ?? [];

  it("are offered where they are set up, and the general search not beside the vendor's own (SEARCH-01)", async () => {
    await start(() => found(), { handler: () => ({ text: "Yes." }) });
    for (const web_search of [undefined, "general", "provider", "off"]) {
      await app.send("hello", { mode: "free_work", ...(web_search === undefined ? {} : { web_search }) });
    }
    const pages = ["web_fetch", "web_crawl"];
    const all = ["web_search", ...pages];
    expect([0, 1, 2, 3].map((index) => offered(index))).toEqual([all, all, pages, pages]);
  });

  it("are not offered where nothing is set up, and say so where a run insists", async () => {
    const calls = [
      { name: "web_search", arguments: { query: "tide" } },
      { name: "web_fetch", arguments: { url: "https://example.com/" } },
    ];
    app = await startWorkflow({ script: [{ text: "Yes." }, { toolCalls: calls }, { text: "I cannot." }] });
    await app.send("hello", { mode: "free_work" });
    expect(offered()).toEqual([]);
    const state = await app.send("search", { mode: "free_work", tools: ["web_search", "web_fetch"] });
    const results = state.messages.filter((message) => message.type === "tool").map(({ text }) => text);
    expect(results[0]).toContain("No search engine is set up here");
    expect(results[1]).toContain("MILLRACE_WEB_FETCH");
  });
});
