import { join } from "node:path";
import { Client, type ThreadState } from "@langchain/langgraph-sdk";
import { Client as SecondClient } from "langgraph-sdk-2";
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from "vitest";
import { startTestServer, type TestServer } from "../support/test-server.ts";

const langgraphJson = join(import.meta.dirname, "..", "fixtures", "graphs", "langgraph.json");

const offered = [
  "annotation",
  "zod",
  "state_schema",
  "nested",
  "asking",
  "breakpoint",
  "factory",
  "failing",
  "policies",
  "slow",
  "context",
  "react_agent",
  "langchain_agent",
  "deep_agent",
  "functional",
  "javascript",
];

let server: TestServer;
let lent: TestServer;
let own: TestServer;
beforeAll(async () => {
  lent = await startTestServer({ graphs: langgraphJson });
  own = await startTestServer({ graphs: join(inject("ownPackages"), "graphs", "langgraph.json") });
});
afterAll(() => Promise.all([lent.remove(), own.remove()]));

/** What everything current uses, and what an unpinned install may get (wire contract, section 0). */
const clients = {
  "1.15.0": () => new Client({ apiUrl: server.url, callerOptions: { maxRetries: 0 } }),
  // What is used here is the same in both; only the types are other ones.
  "2.0.0": () => new SecondClient({ apiUrl: server.url, callerOptions: { maxRetries: 0 } }) as unknown as Client,
};

describe.each([
  ["1.15.0", "lent packages"],
  ["2.0.0", "lent packages"],
  ["1.15.0", "packages of their own"],
] as const)("by the SDK %s, graphs with %s", (version, packages) => {
  const client = clients[version];
  beforeAll(() => {
    server = packages === "lent packages" ? lent : own;
  });

  async function newThread(): Promise<string> {
    return (await client().threads.create()).thread_id;
  }

  /** Runs a graph on a thread and answers with its values. */
  async function run(graph: string, options: object = {}, thread?: string): Promise<Record<string, unknown>> {
    const values = await client().runs.wait(thread ?? (await newThread()), graph, { input: {}, ...options });
    // The values of every graph here are an object.
    return values as Record<string, unknown>;
  }

  const contents = (values: unknown): unknown[] =>
    (values as { messages: { content: unknown }[] }).messages.map(({ content }) => content);

  describe("graphs of a user's folder", () => {
    it("are all offered but those that fail to load, which say why when they are asked for", async () => {
      const found = await client().assistants.search({ limit: 100 });
      expect(found.map(({ graph_id }) => graph_id).toSorted()).toEqual(offered.toSorted());
    });

    it.each(["broken", "python"])("are not there when they fail to load: %s", async (graph) => {
      await expect(run(graph)).rejects.toThrow("HTTP 404");
      await expect(client().assistants.get(graph)).rejects.toThrow(
        /Assistant not found: its graph is not served, since ./u,
      );
    });

    it("may have a state of Annotation", async () => {
      const values = await run("annotation", { input: { topic: "rivers", messages: [] } });
      expect(values).toMatchObject({ topic: "rivers", scores: [6] });
      expect(contents(values)).toEqual(["rivers: 6"]);
    });

    it("may have a state of zod", async () => {
      const values = await run("zod", { input: { messages: [{ role: "user", content: "hi" }], question: "why?" } });
      expect(values).toMatchObject({ question: "why?", level: "easy" });
      expect(contents(values)).toEqual(["hi", "easy: why?"]);
    });

    it("may be a builder with a StateSchema, import .js for .ts, and read the env of langgraph.json", async () => {
      const values = await run("state_schema", { input: { seen: "start" } });
      expect(values["seen"]).toEqual(["start", "hello from langgraph.json"]);
    });

    it("may be a prebuilt ReAct agent", async () => {
      const values = await run("react_agent", { input: { messages: [{ role: "user", content: "weather?" }] } });
      expect(contents(values)).toEqual(["weather?", "", "sunny in Graz", "It is sunny in Graz."]);
    });

    it("may be an agent of LangChain, whose middleware asks before a tool is called", async () => {
      const thread = await newThread();
      const messages = [{ role: "user", content: "weather?" }];
      expect(await run("langchain_agent", { input: { messages } }, thread)).toMatchObject({
        __interrupt__: [{ value: { actionRequests: [{ name: "weather", args: { city: "Graz" } }] } }],
      });
      const resume = { decisions: [{ type: "approve" }] };
      const values = await run("langchain_agent", { input: null, command: { resume } }, thread);
      expect(contents(values)).toEqual(["weather?", "", "sunny in Graz", "It is sunny in Graz."]);
    });

    it("may be an agent of deepagents, whose files are part of its state", async () => {
      const values = await run("deep_agent", { input: { messages: [{ role: "user", content: "take notes" }] } });
      const [, , , , read, end] = contents(values);
      expect(read).toMatchObject([{ type: "text", text: expect.stringContaining("sunny in Graz") }]);
      expect(end).toBe("The notes are taken.");
      expect(Object.keys(values["files"] as object)).toEqual(["/notes.md"]);
    });

    it("may be a workflow of the functional API", async () => {
      expect(await run("functional", { input: { value: 20 } })).toEqual({ result: 41 });
    });

    it("may be a promise of a builder in a CommonJS module", async () => {
      expect(contents(await run("javascript", { input: { messages: [] } }))).toEqual(["from CommonJS"]);
    });
  });

  describe("the schemas of a graph", () => {
    it.each([
      ["annotation", ["messages", "topic", "scores", "mode"]],
      ["nested", ["path"]],
      ["zod", ["messages", "question", "level"]],
      ["state_schema", ["messages", "seen"]],
      ["factory", ["node", "asked_for"]],
      ["javascript", ["messages"]],
    ])("name what its state holds without waiting for anything: %s", async (graph, names) => {
      const { state_schema: state } = await client().assistants.getSchemas(graph);
      expect(Object.keys(state?.properties ?? {}).toSorted()).toEqual(names.toSorted());
    });
  });

  describe("a graph in a graph in a graph", () => {
    it("is drawn, and its subgraphs are listed by their names", async () => {
      const { nodes } = await client().assistants.getGraph("nested", { xray: true });
      expect(nodes.map(({ id }) => id)).toContain("middle:leaf:leaf_one");
      const subgraphs = await client().assistants.getSubgraphs("nested", { recurse: true });
      expect(Object.keys(subgraphs).toSorted()).toEqual(["middle", "middle|leaf"]);
    });

    it("streams with its namespace what it writes", async () => {
      const stream = client().runs.stream(await newThread(), "nested", {
        input: {},
        streamMode: ["custom", "values"],
        streamSubgraphs: true,
      });
      const events: { event: string; data: unknown }[] = [];
      for await (const { event, data } of stream) events.push({ event, data });
      const custom = events.filter(({ event }) => event.startsWith("custom"));
      expect(custom).toEqual([
        { event: expect.stringMatching(/^custom\|middle:[\w-]+\|leaf:[\w-]+$/u), data: { at: "leaf" } },
      ]);
      expect(events.at(-1)).toEqual({ event: "values", data: { path: ["before", "leaf_one", "leaf_two"] } });
    });
  });

  describe("a graph that asks", () => {
    it("goes on from question to question, with the answers it is given", async () => {
      const thread = await newThread();
      expect(await run("asking", {}, thread)).toMatchObject({
        __interrupt__: [{ value: { question: "What is your name?" } }],
      });
      expect((await client().threads.get(thread)).status).toBe("interrupted");
      expect(await run("asking", { input: null, command: { resume: "Ada" } }, thread)).toMatchObject({
        name: "Ada",
        __interrupt__: [{ value: { question: "How old are you, Ada?" } }],
      });
      expect(await run("asking", { input: null, command: { resume: "36" } }, thread)).toEqual({
        name: "Ada",
        age: "36",
      });
      expect((await client().threads.get(thread)).status).toBe("idle");
    });

    it("stops where it was compiled to stop, and goes on without an input", async () => {
      const thread = await newThread();
      expect(await run("breakpoint", {}, thread)).toMatchObject({ draft: "Dear reader", sent: false });
      const state: ThreadState = await client().threads.getState(thread);
      expect(state.next).toEqual(["send"]);
      expect(await run("breakpoint", { input: null }, thread)).toEqual({ draft: "Dear reader", sent: true });
    });

    it("stops where the run says, in any graph", async () => {
      const thread = await newThread();
      await run("annotation", { input: { topic: "sea", messages: [] }, interruptAfter: ["score"] }, thread);
      expect((await client().threads.getState(thread)).next).toEqual(["answer"]);
      expect(contents(await run("annotation", { input: null }, thread))).toEqual(["sea: 3"]);
    });
  });

  describe("a factory", () => {
    it("is asked with the configuration of the run, and gets the purpose", async () => {
      const config = { configurable: { node_name: "mine" } };
      expect(await run("factory", { config })).toEqual({ node: "mine", asked_for: "threads.create_run" });
      expect(await run("factory")).toMatchObject({ node: "usual" });
    });

    it("is asked with what the thread keeps when its state is read and changed", async () => {
      const thread = await newThread();
      const config = { configurable: { node_name: "mine" } };
      await run("factory", { config, interruptBefore: ["mine"] }, thread);
      expect((await client().threads.getState(thread)).next).toEqual(["mine"]);
      await client().threads.updateState(thread, { values: { node: "by hand" }, asNode: "mine" });
      expect((await client().threads.getState(thread)).next).toEqual(["after"]);
    });

    it("is asked with what its assistant has, also when the state is read and changed, and when it is drawn", async () => {
      const config = { configurable: { node_name: "helper" } };
      const { assistant_id: id } = await client().assistants.create({ graphId: "factory", config });
      onTestFinished(() => client().assistants.delete(id));
      const thread = await newThread();
      await run(id, { interruptBefore: ["helper"] }, thread);
      expect((await client().threads.getState(thread)).next).toEqual(["helper"]);
      expect((await client().threads.getHistory(thread))[0]?.next).toEqual(["helper"]);
      await client().threads.updateState(thread, { values: { node: "by hand" }, asNode: "helper" });
      expect((await client().threads.getState(thread)).next).toEqual(["after"]);
      const { nodes } = await client().assistants.getGraph(id);
      expect(nodes.map(({ id: name }) => name)).toEqual(["__start__", "helper", "after", "__end__"]);
    });

    it("is drawn as it is without any configuration", async () => {
      const { nodes } = await client().assistants.getGraph("factory");
      expect(nodes.map(({ id }) => id)).toEqual(["__start__", "usual", "after", "__end__"]);
    });
  });

  describe("a graph that fails", () => {
    it("says how, keeps what it had done, and can be asked again", async () => {
      const thread = await newThread();
      const stream = client().runs.stream(thread, "failing", { input: {} });
      const events: { event: string; data: unknown }[] = [];
      for await (const { event, data } of stream) events.push({ event, data });
      expect(events.at(-1)).toEqual({ event: "error", data: { error: "OutOfLuck", message: "nothing works today" } });
      expect((await client().threads.get(thread)).status).toBe("error");
      const state: ThreadState<{ steps: number }> = await client().threads.getState(thread);
      expect(state.values.steps).toBe(1);
      expect(state.next).toEqual(["fail"]);
      expect(state.tasks[0]?.error).toContain("nothing works today");
      await expect(run("failing", {}, thread)).rejects.toThrow("nothing works today");
    });

    it("retries, ends late nodes and handles errors by its own rules", async () => {
      expect(await run("policies")).toEqual({ tries: 3, late: "NodeTimeoutError", handled: "broken: broken for good" });
    });
  });

  describe("a slow graph", () => {
    it("is stopped in the middle, and its thread can go on", async () => {
      const thread = await newThread();
      const stream = client().runs.stream(thread, "slow", { input: {}, streamMode: ["custom"] });
      const events: string[] = [];
      let runId = "";
      for await (const { event, data } of stream) {
        events.push(event);
        if (event === "metadata") runId = (data as { run_id: string }).run_id;
        if (event === "custom") await client().runs.cancel(thread, runId);
      }
      expect(events).toContain("custom");
      expect((await client().runs.get(thread, runId)).status).toBe("interrupted");
      expect(await run("annotation", { input: { topic: "sea", messages: [] } }, thread)).toMatchObject({ scores: [3] });
    });
  });

  describe("the runtime context", () => {
    it("comes from LANGGRAPH_CONFIG where a run says nothing, and from the run where it does", async () => {
      expect(await client().assistants.get("context")).toMatchObject({
        config: { configurable: { model: "small" } },
        context: { tone: "formal" },
      });
      expect(await run("context")).toEqual({ said: "formal small" });
      expect(await run("context", { context: { tone: "casual" } })).toEqual({ said: "casual small" });
    });

    it("is checked by the schema the graph has for it", async () => {
      await expect(run("context", { context: { tone: "rude" } })).rejects.toThrow(/tone/u);
    });
  });
});
