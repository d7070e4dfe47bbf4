import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { packagesOfGraphs, startTestServer, type TestServer } from "../support/test-server.ts";

const Chunk = z.object({ data: z.object({ chunk: z.object({ content: z.string() }) }) });

/** What the LangGraph clients of other chat kits send, and what they read of the answers. */
describe.each(packagesOfGraphs)("with %s", (packages) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer({}, undefined, packages);
  });
  afterAll(() => server.remove());

  const hi = { messages: [{ id: "said", role: "user", content: "hi" }] };

  type Stream = ReturnType<TestServer["client"]["runs"]["stream"]>;
  async function eventsOf(stream: Stream): Promise<{ event: string; data: unknown }[]> {
    return (await Array.fromAsync(stream)).map(({ event, data }) => ({ event, data }));
  }

  const textIn = (word: unknown): string => Chunk.parse(word).data.chunk.content;

  describe("AG-UI and CopilotKit", () => {
    const streamMode = ["events" as const, "values" as const, "updates" as const, "messages-tuple" as const];

    test("find the graph's assistant, its schemas and its graph", async () => {
      const { assistants } = server.client;
      const [found] = await assistants.search({ graphId: "talker" });
      expect(found).toMatchObject({ graph_id: "talker", name: "talker" });
      const { input_schema, output_schema } = await assistants.getSchemas(found?.assistant_id ?? "");
      expect(Object.keys(input_schema?.properties ?? {})).toEqual(["messages"]);
      expect(Object.keys(output_schema?.properties ?? {})).toEqual(["messages"]);
      const { nodes } = await assistants.getGraph(found?.assistant_id ?? "");
      expect(nodes.map(({ id }) => id)).toContain("talk");
    });

    test("create the thread under their own id, and stream the model's words with their node", async () => {
      const { threads, runs } = server.client;
      const threadId = crypto.randomUUID();
      await threads.create({ threadId, ifExists: "do_nothing" });
      await threads.create({ threadId, ifExists: "do_nothing" });
      const events = await eventsOf(runs.stream(threadId, "talker", { input: hi, streamMode, streamSubgraphs: true }));
      const inner = events.filter(({ event }) => event === "events").map(({ data }) => data);
      const words = inner.filter((data) => Reflect.get(Object(data), "event") === "on_chat_model_stream");
      const expectedChunk = { chunk: { id: expect.any(String), content: expect.any(String) } };
      const origin = { langgraph_node: "talk", run_id: expect.any(String) };
      for (const word of words) expect(word).toMatchObject({ metadata: origin, data: expectedChunk });
      expect(words.map((word) => textIn(word)).join("")).toBe("Hello there");
      const state = await threads.getState<{ messages: { type: string }[] }>(threadId);
      expect(state.values.messages.map(({ type }) => type)).toEqual(["human", "ai"]);
      expect(state.tasks).toEqual([]);
    });

    test("fork before an earlier message, which is how they send a message again", async () => {
      const { threads, runs } = server.client;
      const { thread_id } = await threads.create();
      await runs.wait(thread_id, "talker", { input: hi });
      const history = await threads.getHistory<{ messages?: { id: string }[] }>(thread_id);
      const before = history.findLast(({ values }) => values.messages?.some(({ id }) => id === "said") !== true);
      const fork = await threads.updateState(thread_id, {
        values: hi,
        checkpointId: before?.checkpoint.checkpoint_id ?? "",
        asNode: "__start__",
      });
      const checkpointId = String(fork.configurable?.["checkpoint_id"]);
      await eventsOf(runs.stream(thread_id, "talker", { input: null, checkpointId, streamMode }));
      const { values } = await threads.getState<{ messages: { type: string }[] }>(thread_id);
      expect(values.messages.map(({ type }) => type)).toEqual(["human", "ai"]);
    });

    test("find the question of an interrupt in the tasks, and answer it with a command", async () => {
      const { threads, runs } = server.client;
      const { thread_id } = await threads.create();
      await eventsOf(runs.stream(thread_id, "asker", { input: {}, streamMode }));
      const asked = await threads.getState(thread_id);
      expect(asked.next).toEqual(["ask"]);
      expect(asked.tasks[0]?.interrupts).toMatchObject([{ id: expect.any(String), value: { question: "Go on?" } }]);
      const events = await eventsOf(runs.stream(thread_id, "asker", { command: { resume: "yes" }, streamMode }));
      expect(events.map(({ event }) => event)).not.toContain("error");
      expect((await threads.getState(thread_id)).next).toEqual([]);
    });
  });

  describe("assistant-ui", () => {
    const streamMode = ["messages" as const, "updates" as const, "custom" as const];

    test("accumulates partial messages, which at the end equal those of the state", async () => {
      const { threads, runs } = server.client;
      const { thread_id } = await threads.create();
      const sent = { input: hi, streamMode, onDisconnect: "cancel" as const };
      const events = await eventsOf(runs.stream(thread_id, "talker", sent));
      const partials = events.filter(({ event }) => event === "messages/partial");
      expect(partials.length).toBeGreaterThan(1);
      const { values } = await threads.getState<{ messages: { id: string; content: string }[] }>(thread_id);
      const stored = values.messages.at(-1);
      expect(partials.at(-1)?.data).toMatchObject([{ id: stored?.id, content: stored?.content }]);
      expect(new Set(partials.map(({ data }) => Reflect.get(Object(data)[0], "id")))).toEqual(new Set([stored?.id]));
    });

    test("receives an interrupt in the updates, and reloads it from the state", async () => {
      const { threads, runs } = server.client;
      const { thread_id } = await threads.create();
      const events = await eventsOf(runs.stream(thread_id, "asker", { input: {}, streamMode }));
      const question = { __interrupt__: [{ value: { question: "Go on?" } }] };
      expect(events.at(-1)).toMatchObject({ event: "updates", data: question });
      const { tasks } = await threads.getState(thread_id);
      expect(tasks[0]?.interrupts).toMatchObject(question.__interrupt__);
    });
  });
});
