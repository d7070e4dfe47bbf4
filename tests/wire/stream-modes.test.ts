import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { readEvents, type ReadEvent } from "@millrace/testing/read-events";
import { openGate } from "../support/test-graphs.ts";
import { isSecondSdk, packagesOfGraphs, startTestServer, type TestServer } from "../support/test-server.ts";

describe.each(packagesOfGraphs)("with %s", (packages) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startTestServer({}, undefined, packages);
  });
  afterAll(() => server.remove());

  const hi = { messages: [{ role: "user", content: "hi" }] };
  const newThread = async (): Promise<string> => (await server.client.threads.create()).thread_id;

  /** All events of a run, and its id. */
  async function eventsOf(assistant: string, body: object): Promise<ReadEvent[]> {
    const request = { assistant_id: assistant, input: {}, ...body };
    return readEvents(await server.send("POST", `/threads/${await newThread()}/runs/stream`, request));
  }

  const namesOf = (events: ReadEvent[]): string[] => events.map(({ event }) => event ?? "");
  const dataOf = (events: ReadEvent[], name: string): unknown[] =>
    events.filter(({ event }) => event === name).map(({ data }) => data);
  /** A path of subgraphs in an event name. */
  const inside = expect.stringMatching(/^inside:[0-9a-f-]{36}$/);

  describe("each mode gives only its own events, after the metadata", () => {
    test("values: the state at the start and after each step; an interrupt is added", async () => {
      const events = await eventsOf("counter", { input: { value: 1 }, stream_mode: "values" });
      expect(events.map(({ event, data }) => [event, data])).toEqual([
        ["metadata", { run_id: expect.any(String), attempt: 1 }],
        ["values", { value: 1 }],
        ["values", { value: 2 }],
      ]);
      const asked = await eventsOf("asker", { stream_mode: "values" });
      expect(asked.at(-1)?.data).toEqual({
        __interrupt__: [{ id: expect.stringMatching(/^[0-9a-f]{32}$/), value: { question: "Go on?" } }],
      });
      const broken = await eventsOf("counter", { stream_mode: "values", interrupt_before: ["add"] });
      expect(broken.at(-1)?.data).toEqual({ __interrupt__: [] });
    });

    test("updates: what each node returned, and interrupts", async () => {
      const events = await eventsOf("counter", { input: { value: 1 }, stream_mode: "updates" });
      expect(events.slice(1).map(({ event, data }) => [event, data])).toEqual([["updates", { add: { value: 2 } }]]);
      const asked = await eventsOf("asker", { stream_mode: "updates" });
      expect(asked.at(-1)?.data).toMatchObject({ __interrupt__: [{ value: { question: "Go on?" } }] });
    });

    test("messages: metadata once, each partial message complete, the last one from the state", async () => {
      const events = await eventsOf("talker", { input: hi, stream_mode: "messages" });
      expect(new Set(namesOf(events))).toEqual(
        new Set(["metadata", "messages/metadata", "messages/partial", "messages/complete"]),
      );
      expect(dataOf(events, "messages/metadata")).toHaveLength(1);
      const partials = dataOf(events, "messages/partial");
      expect(partials[0]).toMatchObject([{ content: "H" }]);
      expect(partials.at(-1)).toMatchObject([{ type: "ai", content: "Hello there" }]);
      expect(events.at(-1)).toMatchObject({ event: "messages/complete", data: [{ content: "Hello there" }] });
    });

    test("messages: each chunk of a model that a node only invokes, and at last the whole message", async () => {
      const events = await eventsOf("speller", { input: hi, stream_mode: ["messages", "messages-tuple"] });
      const [metadata] = dataOf(events, "messages/metadata");
      const [id = ""] = Object.keys(z.record(z.string(), z.unknown()).parse(metadata));
      expect(metadata).toMatchObject({ [id]: { metadata: { langgraph_node: "spell" } } });
      expect(dataOf(events, "messages/partial")).toMatchObject(
        ["b", "be", "beg", "begi", "begin"].map((content) => [{ type: "ai", id, content }]),
      );
      expect(dataOf(events, "messages")).toMatchObject(Array.from("begin", (content) => [{ id, content }, {}]));
      expect(namesOf(events).filter((name) => name === "messages/metadata")).toHaveLength(1);
      const complete = dataOf(events, "messages/complete");
      expect(complete).toMatchObject([[{ content: "hi" }], [{ type: "ai", id, content: "begin" }]]);
      expect(dataOf(events, "messages/partial").at(-1)).toMatchObject(z.array(z.unknown()).parse(complete.at(-1)));
    });

    test("messages: a tool call in chunks, and at last the whole message", async () => {
      const look = { messages: [{ role: "user", content: "look" }] };
      const events = await eventsOf("speller", { input: look, stream_mode: "messages" });
      const whole = [{ tool_calls: [{ id: "look-1", name: "look", args: { at: "it" } }] }];
      expect(dataOf(events, "messages/partial")).toHaveLength(3);
      expect(dataOf(events, "messages/partial").at(-1)).toMatchObject(whole);
      expect(events.at(-1)).toMatchObject({ event: "messages/complete", data: whole });
    });

    test("messages-tuple: each chunk with its metadata", async () => {
      const events = await eventsOf("talker", { input: hi, stream_mode: "messages-tuple" });
      expect(new Set(namesOf(events))).toEqual(new Set(["metadata", "messages"]));
      const chunks = z
        .array(z.tuple([z.looseObject({ content: z.string() }), z.unknown()]))
        .parse(dataOf(events, "messages"));
      expect(chunks.map(([{ content }]) => content).join("")).toBe("Hello there");
      expect(chunks[0]).toMatchObject([
        { type: "ai", id: expect.any(String) },
        {
          langgraph_node: "talk",
          langgraph_step: 1,
          langgraph_triggers: ["branch:to:talk"],
          langgraph_path: ["__pregel_pull", "talk"],
          langgraph_checkpoint_ns: expect.stringMatching(/^talk:/),
          ls_model_type: "chat",
          tags: [],
        },
      ]);
    });

    test("custom: what the graph wrote", async () => {
      const gate = crypto.randomUUID();
      openGate(gate);
      const events = await eventsOf("gated", { input: { gate }, stream_mode: "custom" });
      expect(events.slice(1).map(({ event, data }) => [event, data])).toEqual([
        ["custom", { at: "gate" }],
        ["custom", { at: "other side" }],
      ]);
    });

    test("tasks: each step at its start and at its end", async () => {
      const events = await eventsOf("counter", { input: { value: 1 }, stream_mode: "tasks" });
      expect(namesOf(events)).toEqual(["metadata", "tasks", "tasks"]);
      const [start, end] = dataOf(events, "tasks");
      expect(start).toMatchObject({
        id: expect.any(String),
        name: "add",
        input: { value: 1 },
        triggers: ["branch:to:add"],
        interrupts: [],
      });
      expect(end).toMatchObject({ name: "add", result: { value: 2 }, interrupts: [] });
    });

    test("checkpoints: each state with its next nodes", async () => {
      const events = await eventsOf("counter", { input: { value: 1 }, stream_mode: "checkpoints" });
      expect(new Set(namesOf(events))).toEqual(new Set(["metadata", "checkpoints"]));
      const states = dataOf(events, "checkpoints");
      expect(states.at(-1)).toMatchObject({
        values: { value: 2 },
        next: [],
        metadata: { source: "loop", step: 1 },
        config: { configurable: { checkpoint_id: expect.any(String) } },
      });
      expect(states[1]).toMatchObject({ next: ["add"] });
      expect(JSON.stringify(states)).not.toMatch(/"__\w+":/u);
    });

    test("debug: steps and states, with the checkpoint of each and its parent's", async () => {
      const events = await eventsOf("counter", { input: { value: 1 }, stream_mode: "debug" });
      expect(new Set(namesOf(events))).toEqual(new Set(["metadata", "debug"]));
      const kinds = z
        .array(z.looseObject({ type: z.string(), step: z.number(), timestamp: z.string(), payload: z.looseObject({}) }))
        .parse(dataOf(events, "debug"));
      expect(kinds.map(({ type }) => type)).toEqual(["checkpoint", "checkpoint", "task", "task_result", "checkpoint"]);
      const { payload } = kinds.at(-1) ?? {};
      expect(payload).toMatchObject({
        values: { value: 2 },
        next: [],
        tasks: [],
        metadata: { source: "loop" },
        checkpoint: { checkpoint_ns: "", checkpoint_id: expect.any(String) },
        parent_checkpoint: { checkpoint_id: expect.any(String) },
        parent_config: { configurable: expect.anything() },
      });
      expect(JSON.stringify(payload)).not.toMatch(/"__|callbacks/u);
    });

    test("events: LangChain's events of every runnable, except hidden ones and the graph's own chunks", async () => {
      const events = await eventsOf("talker", { input: hi, stream_mode: "events" });
      expect(new Set(namesOf(events))).toEqual(new Set(["metadata", "events"]));
      const { run_id } = z.object({ run_id: z.string() }).parse(events[0]?.data);
      const runEvents = z
        .array(z.looseObject({ event: z.string(), name: z.string(), run_id: z.string(), tags: z.array(z.string()) }))
        .parse(dataOf(events, "events"));
      expect(runEvents[0]).toMatchObject({ event: "on_chain_start", run_id, name: "LangGraph" });
      expect(runEvents.at(-1)).toMatchObject({ event: "on_chain_end", run_id });
      const tokens = runEvents.filter(({ event }) => event === "on_chat_model_stream");
      expect(tokens.length).toBeGreaterThan(5);
      expect(tokens[0]).toMatchObject({ data: { chunk: { type: "ai", content: "H" } } });
      expect(runEvents.filter(({ tags }) => tags.includes("langsmith:hidden"))).toEqual([]);
      expect(runEvents.filter((one) => one.event === "on_chain_stream" && one.run_id === run_id)).toEqual([]);
      const both = await eventsOf("counter", { input: { value: 1 }, stream_mode: ["events", "values", "updates"] });
      expect(dataOf(both, "values")).toEqual([{ value: 1 }, { value: 2 }]);
      expect(dataOf(both, "updates")).toEqual([{ add: { value: 2 } }]);
    });

    test("events of a failed run end with its error", async () => {
      const events = await eventsOf("failing", { stream_mode: "events" });
      expect(events.at(-1)).toMatchObject({ event: "error", data: { error: "RangeError", message: "out of luck" } });
    });

    test("tools: each tool call at its start and at its end", async () => {
      const events = await eventsOf("toolUser", { input: { messages: [] }, stream_mode: "tools" });
      expect(new Set(namesOf(events))).toEqual(new Set(["metadata", "tools"]));
      expect(dataOf(events, "tools")).toEqual([
        { event: "on_tool_start", toolCallId: "call-1", name: "add", input: JSON.stringify({ left: 1, right: 2 }) },
        { event: "on_tool_end", toolCallId: "call-1", name: "add", output: expect.objectContaining({ content: "3" }) },
        { event: "on_tool_start", toolCallId: "call-2", name: "fail", input: "{}" },
        { event: "on_tool_error", toolCallId: "call-2", name: "fail", error: { error: "Error", message: "no luck" } },
      ]);
    });

    test("lifecycle: the start and the end of each subgraph, by its path", async () => {
      const events = await eventsOf("nested", { input: hi, stream_mode: "lifecycle" });
      const [, started, completed] = events;
      expect(namesOf(events)).toEqual([
        "metadata",
        expect.stringMatching(/^lifecycle\|inside:[0-9a-f-]{36}$/),
        started?.event,
      ]);
      expect(started?.data).toEqual({ event: "started", namespace: [inside] });
      expect(completed?.data).toEqual({ event: "completed", namespace: [inside] });
      const asked = await eventsOf("nestedAsker", { stream_mode: "lifecycle" });
      expect(asked.at(-1)?.data).toEqual({ event: "interrupted", namespace: [inside] });
      const failed = await eventsOf("nestedFailing", { stream_mode: "lifecycle" });
      expect(failed.slice(2).map(({ data }) => data)).toEqual([
        { event: "failed", namespace: [inside], error: { error: "RangeError", message: "out of luck" } },
        { error: "RangeError", message: "out of luck" },
      ]);
    });

    test("an unknown mode is refused", async () => {
      const body = { assistant_id: "counter", stream_mode: ["values", "colors"] };
      expect((await server.send("POST", "/runs/stream", body)).status).toBe(400);
    });
  });

  describe("subgraphs", () => {
    test("have their path in the event names of each mode when requested, and send nothing otherwise", async () => {
      const modes = ["values", "updates", "custom", "messages-tuple", "tasks", "checkpoints", "debug"];
      const body = { input: hi, stream_mode: modes };
      const events = await eventsOf("nested", { ...body, stream_subgraphs: true });
      const [path] = namesOf(events).flatMap((name) => /\|(inside:[0-9a-f-]{36})$/u.exec(name)?.[1] ?? []);
      const wired = modes.map((mode) => (mode === "messages-tuple" ? "messages" : mode));
      for (const mode of wired) expect(namesOf(events)).toContain(`${mode}|${path}`);
      for (const name of namesOf(events).slice(1))
        expect([...wired, ...wired.map((mode) => `${mode}|${path}`)]).toContain(name);
      const flat = await eventsOf("nested", body);
      expect(namesOf(flat).filter((name) => name.includes("|"))).toEqual([]);
      expect(dataOf(flat, "custom")).toEqual([{ said: "in the subgraph" }]);
    });

    test("stream their messages when requested; otherwise only what their nodes return", async () => {
      const modes = ["messages-tuple", "messages"];
      const flat = await eventsOf("nestedSpeller", { input: hi, stream_mode: modes });
      const messages = dataOf(flat, "messages");
      expect(messages).toMatchObject(
        ["inside", "caller"].map((langgraph_node) => [{ content: "begin" }, { langgraph_node }]),
      );
      expect(dataOf(flat, "messages/complete")).toHaveLength(3);
      const deep = await eventsOf("nestedSpeller", { input: hi, stream_mode: modes, stream_subgraphs: true });
      const pieces = deep.filter(({ event }) => /^messages\|(inside|caller):[0-9a-f-]{36}$/u.test(event ?? ""));
      expect(pieces.map(({ data }) => data)).toMatchObject(
        Array.from("beginbegin", (content) => [{ content }, { langgraph_node: "spell" }]),
      );
      expect(dataOf(deep, "messages/partial")).toHaveLength(10);
    });

    // SDK 2.0.0 sends no paths.
    test.skipIf(isSecondSdk)("can be filtered by path; the root is the empty path", async () => {
      const threadId = await newThread();
      const body = { assistant_id: "nested", input: hi, stream_mode: "updates", stream_subgraphs: true };
      const path = `/threads/${threadId}/runs/stream`;
      const root = await readEvents(await server.send("POST", `${path}?namespace=`, body));
      expect(namesOf(root)).toEqual(["metadata", "updates"]);
      const all = await readEvents(await server.send("POST", path, body));
      const { run_id } = z.object({ run_id: z.string() }).parse(all[0]?.data);
      const inner = namesOf(all).flatMap((name) => /\|(.*)$/u.exec(name)?.[1] ?? []);
      const joined = async (...namespaces: string[]): Promise<string[]> => {
        const options = { streamNamespaces: namespaces, lastEventId: "-1" };
        const events = await Array.fromAsync(server.client.runs.joinStream(threadId, run_id, options));
        return events.map(({ event }) => event);
      };
      expect(await joined(...inner)).toEqual(["metadata", `updates|${inner[0]}`]);
      expect(await joined("", ...inner)).toEqual(namesOf(all));
      expect(await joined("elsewhere:1")).toEqual(["metadata"]);
    });
  });

  test("a replay equals the live stream in every mode, also after a restart", async () => {
    const other = await startTestServer({}, undefined, packages);
    const modes = ["values", "updates", "messages", "messages-tuple", "custom", "debug", "tasks", "checkpoints"];
    const allModes = [...modes, "events", "tools", "lifecycle"];
    const { thread_id } = await other.client.threads.create();
    const body = {
      assistant_id: "nested",
      input: hi,
      stream_mode: allModes,
      stream_subgraphs: true,
      stream_resumable: true,
    };
    const events = await readEvents(await other.send("POST", `/threads/${thread_id}/runs/stream`, body));
    const { run_id } = z.object({ run_id: z.string() }).parse(events[0]?.data);
    await other.close();
    const again = await other.restart();
    const path = `/threads/${thread_id}/runs/${run_id}/stream`;
    const replayed = await readEvents(await again.send("GET", path, undefined, { "last-event-id": "-1" }));
    expect(replayed).toEqual(events);
    const rest = await readEvents(await again.send("GET", path, undefined, { "last-event-id": "4" }));
    expect(rest).toEqual(events.slice(5));
    await again.remove();
  });
});
