import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import type { Run } from "@langchain/langgraph-sdk";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { showLater } from "@millrace/testing/clock";
import { allChannels, command, isEnd, openEvents, type WireEvent } from "../../support/requests/protocol-client.ts";
import { readEvents, readText } from "@millrace/testing/read-events";
import { openGate } from "../../support/test-graphs.ts";
import { isOneOfTwo, packagesOfGraphs, startTestServer, type TestServer } from "../../support/test-server.ts";

let server: TestServer;
const servers = new Map<string, TestServer>();
beforeAll(async () => {
  for (const packages of packagesOfGraphs)
    servers.set(packages, await startTestServer({ drainSeconds: 0.1 }, undefined, packages));
  useGraphs("lent packages");
});
afterAll(() => Promise.all([server, ...servers.values()].map((one) => one.remove())));
function useGraphs(packages: string): void {
  server = servers.get(packages) ?? server;
}
afterEach(() => {
  vi.restoreAllMocks();
});

const start = (threadId: string, assistant_id: string, input: unknown, more: object = {}) =>
  command(server, threadId, "run.start", { assistant_id, input, ...more });
const hello = { messages: [{ role: "user", content: "Hi", id: "hi" }] };
const dataOf = (events: WireEvent[], method: string): unknown[] =>
  events.filter((event) => event.method === method).map(({ params }) => params.data);
const seqs = (events: WireEvent[]): number[] => events.map(({ seq }) => seq);

/** Performs one run and returns all its events. */
async function recordOf(assistant: string, input: unknown, filter: object = {}): Promise<WireEvent[]> {
  const threadId = crypto.randomUUID();
  const reader = await openEvents(server, threadId, filter);
  await start(threadId, assistant, input);
  const events = await reader.until(isEnd);
  await reader.leave();
  return events;
}

describe.each(packagesOfGraphs)("the events of a run of a graph with %s", (packages) => {
  beforeAll(() => useGraphs(packages));
  afterAll(() => useGraphs("lent packages"));

  it("begin with running and end with completed, with the state and its checkpoint between", async () => {
    const events = await recordOf("counter", { value: 1 });
    expect(events[0]).toMatchObject({
      type: "event",
      method: "lifecycle",
      params: { namespace: [], data: { event: "running", graph_name: "counter" } },
    });
    expect(events.at(-1)?.params.data).toEqual({ event: "completed", graph_name: "counter" });
    expect(dataOf(events, "values")).toEqual([{ value: 1 }, { value: 2 }]);
    const place = events.findIndex(({ method }) => method === "values");
    expect(events[place - 1]).toMatchObject({ method: "checkpoints", params: { data: { step: 0, source: "loop" } } });
    expect(dataOf(events, "checkpoints").at(-1)).toMatchObject({
      step: 1,
      source: "loop",
      parent_id: expect.any(String),
    });
    expect(events.find(({ method }) => method === "updates")?.params).toMatchObject({
      node: "add",
      data: { value: 2 },
    });
    expect(dataOf(events, "tasks")).toMatchObject([
      { name: "add", input: { value: 1 } },
      { name: "add", result: { value: 2 } },
    ]);
  });

  it("have rising seqs, and ids that contain the run id where the SDK looks for it", async () => {
    const events = await recordOf("talker", hello);
    expect(seqs(events)).toEqual([...new Set(seqs(events))].toSorted((a, b) => a - b));
    const ids = new Set(events.map(({ event_id }) => event_id));
    expect(ids.size).toBe(events.length);
    for (const { method, event_id } of events) {
      expect(event_id).toMatch(method === "lifecycle" ? /^synth:[0-9a-f-]{36}:\d+$/u : /^[0-9a-f-]{36}:\d+$/u);
    }
  });

  it("contain a streamed message as blocks, in the order of the protocol", async () => {
    const events = await recordOf("talker", hello);
    const messageEvents = events.filter(({ method }) => method === "messages");
    const data = dataOf(messageEvents, "messages") as { event: string; delta?: { text: string } }[];
    expect([...new Set(data.map(({ event }) => event))]).toEqual([
      "message-start",
      "content-block-start",
      "content-block-delta",
      "content-block-finish",
      "message-finish",
    ]);
    expect(data.flatMap(({ delta }) => delta?.text ?? []).join("")).toBe("Hello there");
    expect(data.length).toBeGreaterThan(10);
    expect(data.find(({ event }) => event === "content-block-finish")).toMatchObject({
      index: 0,
      content: { type: "text", text: "Hello there" },
    });
    const last = dataOf(events, "values").at(-1) as { messages: { id: string }[] };
    expect(new Set(messageEvents.map(({ params }) => params.data["run_id"]))).toEqual(new Set([last.messages[1]?.id]));
    expect(messageEvents[0]?.params).toMatchObject({ node: "talk", namespace: [expect.stringMatching(/^talk:/u)] });
  });

  it("contain each chunk of a model that a node only invokes, in one message", async () => {
    const events = await recordOf("speller", hello);
    const data = dataOf(events, "messages") as { event: string; delta?: { text: string } }[];
    expect(data.map(({ event }) => event)).toEqual([
      "message-start",
      "content-block-start",
      ...Array.from("begin", () => "content-block-delta"),
      "content-block-finish",
      "message-finish",
    ]);
    expect(data.flatMap(({ delta }) => delta?.text ?? [])).toEqual(Array.from("begin"));
  });

  it("contain a streamed tool call as a separate block", async () => {
    const events = await recordOf("speller", { messages: [{ role: "user", content: "look" }] });
    const data = dataOf(events, "messages") as { event: string }[];
    expect(data.filter(({ event }) => event === "content-block-finish")).toMatchObject([
      { content: { type: "tool_call", id: "look-1", name: "look", args: { at: "it" } } },
    ]);
    expect(data.filter(({ event }) => event === "message-finish")).toHaveLength(1);
  });

  it("contain the start and the end of each subgraph, with its namespace", async () => {
    const events = await recordOf("nested", hello);
    const lifecycles = events.filter(({ method }) => method === "lifecycle");
    expect(
      lifecycles.map(({ params }) => [params.namespace.length, params.data["event"], params.data["graph_name"]]),
    ).toEqual([
      [0, "running", "nested"],
      [1, "started", "inside"],
      [2, "started", "speak"],
      [2, "completed", "speak"],
      [1, "completed", "inside"],
      [0, "completed", "nested"],
    ]);
    expect(events.find(({ method }) => method === "custom")).toMatchObject({
      params: { namespace: [expect.stringMatching(/^inside:/u)], data: { payload: { said: "in the subgraph" } } },
    });
  });

  it("contain the calls of LangGraph's own tools, and failed ones", async () => {
    const events = await recordOf("toolUser", {});
    expect(dataOf(events, "tools")).toMatchObject([
      { event: "tool-started", tool_call_id: "call-1", tool_name: "add", input: expect.stringContaining("left") },
      { event: "tool-finished", tool_call_id: "call-1", output: { type: "tool", content: "3" } },
      { event: "tool-started", tool_call_id: "call-2", tool_name: "fail" },
      { event: "tool-error", tool_call_id: "call-2", message: "no luck" },
    ]);
  });

  it("contain the error of a failed run", async () => {
    const events = await recordOf("failing", { value: 1 });
    expect(events.at(-1)?.params.data).toEqual({ event: "failed", graph_name: "failing", error: "out of luck" });
  });

  it("contain a question once, in its namespace, and end with interrupted", async () => {
    const events = await recordOf("nestedAsker", {});
    const asked = events.filter(({ method }) => method === "input.requested");
    expect(asked).toMatchObject([
      {
        params: {
          namespace: [expect.stringMatching(/^inside:/u)],
          data: { interrupt_id: expect.stringMatching(/^[0-9a-f]{32}$/u), payload: { question: "Go on?" } },
        },
      },
    ]);
    expect(JSON.stringify(dataOf(events, "values"))).not.toContain("__interrupt__");
    expect(events.at(-1)?.params.data).toMatchObject({ event: "interrupted" });
  });

  it("can be filtered by channel, namespace and depth", async () => {
    const only = await recordOf("talker", hello, { channels: ["lifecycle", "values"] });
    expect(new Set(only.map(({ method }) => method))).toEqual(new Set(["lifecycle", "values"]));
    const root = await recordOf("nested", hello, { namespaces: [[]], depth: 0 });
    expect(root.every(({ params }) => params.namespace.length === 0)).toBe(true);
    const threadId = crypto.randomUUID();
    const inside = await openEvents(server, threadId, { channels: ["lifecycle"], namespaces: [["inside"]] });
    await start(threadId, "nested", hello);
    const events = await inside.until(
      ({ params }) => params.namespace.length === 1 && params.data["event"] === "completed",
    );
    expect(events.every(({ params }) => params.namespace[0]?.startsWith("inside:"))).toBe(true);
    await inside.leave();
  });
});

const hasPosition = ({ payload }: Record<string, unknown>, at: number): boolean =>
  (payload as { at: number }).at === at;

describe("the event stream of a thread", () => {
  it("stays open from run to run", async () => {
    const threadId = crypto.randomUUID();
    const reader = await openEvents(server, threadId, { channels: ["lifecycle"] });
    await start(threadId, "counter", { value: 1 });
    const first = await reader.until(isEnd);
    await start(threadId, "counter", { value: 1 });
    const second = await reader.until(isEnd);
    expect(seqs(first).at(-1)).toBeLessThan(seqs(second)[0] ?? 0);
    await reader.leave();
  });

  it("is the same for a late subscriber, and resumes after `since`, also after a restart", async () => {
    const threadId = crypto.randomUUID();
    const reader = await openEvents(server, threadId);
    await start(threadId, "talker", hello);
    const first = await reader.until(isEnd);
    await start(threadId, "nested", hello);
    const second = await reader.until(isEnd);
    await reader.leave();
    const all = [...first, ...second];

    const late = await openEvents(server, threadId);
    expect(await late.until(isEnd)).toEqual(second);
    await late.leave();

    await server.close();
    server = await server.restart();
    const middle = first[5]?.seq ?? 0;
    const resumed = await openEvents(server, threadId, { since: middle });
    const rest = [...(await resumed.until(isEnd)), ...(await resumed.until(isEnd))];
    expect(rest).toEqual(all.filter(({ seq }) => seq > middle));
    await resumed.leave();

    const byHeader = await openEvents(server, threadId, {}, { "last-event-id": second[3]?.event_id ?? "" });
    expect(await byHeader.until(isEnd)).toEqual(second.slice(4));
    await byHeader.leave();
  });

  it("has all events of an active run for a late subscriber, and none twice", async () => {
    const threadId = crypto.randomUUID();
    const gate = crypto.randomUUID();
    const early = await openEvents(server, threadId);
    await start(threadId, "gated", { gate });
    const begin = await early.until(({ method }) => method === "custom");
    const late = await openEvents(server, threadId);
    await late.until(({ method }) => method === "custom");
    openGate(gate);
    const rest = await early.until(isEnd);
    const events = [...begin, ...rest];
    expect(new Set(seqs(events)).size).toBe(events.length);
    expect(await late.until(isEnd)).toEqual(rest);
    await Promise.all([early.leave(), late.leave()]);
  });

  it("continues in a run that a restart interrupted, without lost or repeated events", async () => {
    const threadId = crypto.randomUUID();
    const gate = crypto.randomUUID();
    const reader = await openEvents(server, threadId);
    await start(threadId, "gated", { gate });
    const before = await reader.until(({ method }) => method === "custom");
    await reader.leave();
    await server.close();
    server = await server.restart();
    const since = before.at(-1)?.seq;
    const back = await openEvents(server, threadId, { since });
    openGate(gate);
    const after = await back.until(isEnd);
    const whole = await openEvents(server, threadId);
    expect(await whole.until(isEnd)).toEqual([...before, ...after]);
    const events = [...before, ...after];
    expect(seqs(events)).toEqual([...new Set(seqs(events))].toSorted((a, b) => a - b));
    const ofRoot = events.filter(({ method, params }) => method === "lifecycle" && params.namespace.length === 0);
    expect(ofRoot.map(({ params }) => params.data["event"])).toEqual(["running", "running", "completed"]);
    expect(dataOf(events, "values").at(-1)).toMatchObject({ passed: true });
    await Promise.all([back.leave(), whole.leave()]);
  });

  // Of two servers, the one without the run ends its readers at once: they come back at the other one.
  it.skipIf(isOneOfTwo)("stays open until the runs of a stopping server have ended", async () => {
    const own = await startTestServer();
    const threadId = crypto.randomUUID();
    const gate = crypto.randomUUID();
    const reader = await openEvents(own, threadId);
    await command(own, threadId, "run.start", { assistant_id: "gated", input: { gate } });
    await reader.until(({ method }) => method === "custom");
    const closed = own.close();
    openGate(gate);
    expect((await reader.until(isEnd)).at(-1)?.params.data).toMatchObject({ event: "completed" });
    await closed;
    await own.remove();
  });

  it("disconnects a reader that is too slow, while the run goes on, and is complete after a reconnect", async () => {
    const threadId = crypto.randomUUID();
    const count = 2000;
    const gate = crypto.randomUUID();
    const sent = httpRequest(`${server.url}/threads/${threadId}/stream/events`, {
      method: "POST",
      headers: { "content-type": "application/json" },
    });
    sent.end(JSON.stringify({ channels: ["custom", "lifecycle"], namespaces: [[]], depth: 0 }));
    // The first argument of a request's "response" event is the response.
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    const { result } = await start(threadId, "flood", { events: count, size: 20_000, gate });
    const half = await openEvents(server, threadId, { channels: ["custom"] });
    await half.until(({ params }) => hasPosition(params.data, count / 2 - 1));
    await half.leave();
    showLater(3_000);
    openGate(gate);
    await server.client.runs.join(threadId, String(result["run_id"]));
    const { text } = await readText(response);
    expect(text).toContain(": cut off, too far behind");
    // The data are events of the protocol.
    const seen = (await readEvents(new Response(text))).map(({ data }) => data as WireEvent);
    expect(seen.length).toBeLessThan(count);
    const back = await openEvents(server, threadId, {
      channels: ["custom", "lifecycle"],
      since: seen.at(-1)?.seq,
    });
    const all = [...seen, ...(await back.until(isEnd))];
    const customData = dataOf(all, "custom") as { payload: { at: number } }[];
    expect(customData.map(({ payload }) => payload.at)).toEqual(Array.from({ length: count }, (_, at) => at));
    await back.leave();
  });

  it("has the events of runs that the other protocol started", async () => {
    const { thread_id } = await server.client.threads.create();
    const reader = await openEvents(server, thread_id);
    await server.client.runs.wait(thread_id, "counter", { input: { value: 3 } });
    const events = await reader.until(isEnd);
    expect(events.map(({ method }) => method)).toEqual(["lifecycle", "values", "values", "lifecycle"]);
    await reader.leave();
  });

  it("leaves the stream of a run unchanged", async () => {
    const threadId = crypto.randomUUID();
    const { result } = await start(threadId, "counter", { value: 1 });
    const names: string[] = [];
    for await (const { event } of server.client.runs.joinStream(threadId, String(result["run_id"]))) names.push(event);
    expect(names).not.toContain("checkpoint");
    expect(names).toContain("values");
  });
});

describe("commands", () => {
  it("run.start creates the thread, and returns the run id and the seq before the run", async () => {
    const threadId = crypto.randomUUID();
    const answer = await start(threadId, "counter", { value: 1 });
    expect(answer).toMatchObject({ type: "success", id: 7, meta: { thread_id: threadId } });
    const runId = String(answer.result["run_id"]);
    await server.client.runs.join(threadId, runId);
    const record = await openEvents(server, threadId);
    const events = await record.until(isEnd);
    expect(seqs(events)[0]).toBeGreaterThan(answer.meta.applied_through_seq);
    const next = await start(threadId, "counter", { value: 1 });
    expect(next.meta.applied_through_seq).toBeGreaterThan(seqs(events).at(-1) ?? 0);
    await record.leave();
  });

  it("run.start queues by default, and accepts both spellings of multitask_strategy", async () => {
    const threadId = crypto.randomUUID();
    const gate = crypto.randomUUID();
    await start(threadId, "gated", { gate });
    const queued = await start(threadId, "counter", { value: 1 });
    expect(queued.type).toBe("success");
    const rejected = await start(threadId, "counter", { value: 1 }, { multitask_strategy: "reject" });
    expect(rejected).toMatchObject({ type: "error", error: "invalid_argument" });
    expect(await start(threadId, "counter", { value: 1 }, { multitaskStrategy: "reject" })).toEqual({
      ...rejected,
      meta: expect.anything(),
    });
    openGate(gate);
    await server.client.runs.join(threadId, String(queued.result["run_id"]));
  });

  it("input.respond answers a run's question, and subscribers receive that it was answered", async () => {
    const threadId = crypto.randomUUID();
    const reader = await openEvents(server, threadId);
    await start(threadId, "asker", {});
    const asked = await reader.until(isEnd);
    const [{ interrupt_id }] = dataOf(asked, "input.requested") as [{ interrupt_id: string }];
    const wrong = { namespace: [], interrupt_id: "f".repeat(32), response: "no" };
    expect(await command(server, threadId, "input.respond", wrong)).toMatchObject({
      type: "error",
      error: "no_such_interrupt",
      message: expect.stringContaining(interrupt_id),
    });
    const right = { namespace: [], interrupt_id, response: "yes" };
    expect(await command(server, threadId, "input.respond", right)).toMatchObject({ type: "success", id: 7 });
    const answered = await reader.until(isEnd);
    expect(dataOf(answered, "input.answered")).toEqual([{ interrupt_ids: [interrupt_id] }]);
    expect(dataOf(answered, "values").at(-1)).toEqual({ answer: "yes" });
    expect(answered.at(-1)?.params.data).toMatchObject({ event: "completed" });
    expect(await command(server, threadId, "input.respond", right)).toMatchObject({
      type: "error",
      error: "invalid_argument",
      message: expect.stringContaining("while the run is interrupted"),
    });
    await reader.leave();
  });

  it("input.respond answers several questions in one run, each in its namespace", async () => {
    const threadId = crypto.randomUUID();
    const reader = await openEvents(server, threadId);
    await start(threadId, "twoDepths", {});
    const asked = (await reader.until(isEnd)).filter(({ method }) => method === "input.requested");
    expect(new Set(asked.map(({ params }) => params.namespace.length))).toEqual(new Set([0, 1]));
    const responses = asked.map(({ params: { namespace, data } }) => {
      return { namespace, interrupt_id: data["interrupt_id"], response: namespace.length === 0 ? "this" : "very" };
    });
    expect(await command(server, threadId, "input.respond", { responses })).toMatchObject({ type: "success" });
    const answered = await reader.until(isEnd);
    expect(dataOf(answered, "input.answered")).toMatchObject([{ interrupt_ids: expect.any(Array) }]);
    expect(dataOf(answered, "input.requested")).toEqual([]);
    const { values } = await server.client.threads.getState<{ answers: string[] }>(threadId);
    expect(values.answers.toSorted()).toEqual(["deep: very", "shallow: this"]);
    await reader.leave();
  });

  it("input.respond answers an open question after the run with another answer has failed", async () => {
    const threadId = crypto.randomUUID();
    const reader = await openEvents(server, threadId);
    await start(threadId, "touchy", {});
    const asked = (await reader.until(isEnd)).filter(({ method }) => method === "input.requested");
    const idOf = (question: string): unknown =>
      asked.find(({ params }) => params.data["payload"] === question)?.params.data["interrupt_id"];
    await command(server, threadId, "input.respond", { interrupt_id: idOf("Left?"), response: "no" });
    await reader.until(isEnd);
    expect((await server.client.threads.get(threadId)).status).toBe("error");
    const answered = await command(server, threadId, "input.respond", {
      interrupt_id: idOf("Right?"),
      response: "yes",
    });
    expect(answered).toMatchObject({ type: "success" });
    await reader.until(isEnd);
    const { interrupts } = await server.client.threads.get(threadId);
    expect(Object.values(interrupts).flat()).toMatchObject([{ value: "Left?" }]);
    await reader.leave();
  });

  it("input.respond can update the state with the answer", async () => {
    const threadId = crypto.randomUUID();
    const reader = await openEvents(server, threadId);
    await start(threadId, "twoDepths", {});
    const asked = (await reader.until(isEnd)).filter(({ method }) => method === "input.requested");
    const responses = asked.map(({ params: { data } }) => ({ interrupt_id: data["interrupt_id"], response: "so" }));
    await command(server, threadId, "input.respond", { responses, update: { answers: ["pushed"] } });
    await reader.until(isEnd);
    const { values } = await server.client.threads.getState<{ answers: string[] }>(threadId);
    expect(values.answers.toSorted()).toEqual(["deep: so", "pushed", "shallow: so"]);
    await reader.leave();
  });

  it.each([
    ["interrupt", 2],
    ["rollback", 1],
  ])("a run with the strategy %s ends the one before, whose end is sent", async (multitask_strategy, left) => {
    const threadId = crypto.randomUUID();
    const reader = await openEvents(server, threadId, {
      channels: ["lifecycle", "custom"],
      namespaces: [[]],
      depth: 0,
    });
    const first = await start(threadId, "gated", { gate: crypto.randomUUID() });
    await reader.until(({ method }) => method === "custom");
    const second = await start(threadId, "counter", { value: 1 }, { multitask_strategy });
    const ends = [await reader.until(isEnd), await reader.until(isEnd)].map((events) => events.at(-1));
    expect(ends.map((end) => [end?.event_id.split(":")[1], end?.params.data["event"]])).toEqual([
      [first.result["run_id"], "interrupted"],
      [second.result["run_id"], "completed"],
    ]);
    await expect.poll(async () => (await server.client.runs.list(threadId)).length).toBe(left);
    await reader.leave();
  });

  it.each(["a command", "the question's own route"])(
    "an answer by %s continues the run that asked, not one that was stopped before it started",
    async (way) => {
      const { client } = server;
      const assistantOf = (who: string) => client.assistants.create({ graphId: "asker", name: who, context: { who } });
      const [asking, stopped] = await Promise.all(["asking", "stopped"].map(assistantOf));
      const { thread_id } = await client.threads.create();
      await client.runs.wait(thread_id, asking?.assistant_id ?? "", { input: {} });
      const later = await client.runs.create(thread_id, stopped?.assistant_id ?? "", { afterSeconds: 3600 });
      await client.runs.cancel(thread_id, later.run_id, true);
      const [{ id } = { id: "" }] = Object.values((await client.threads.get(thread_id)).interrupts ?? {}).flat();
      if (way === "a command") {
        const answer = { namespace: [], interrupt_id: id, response: "yes" };
        expect(await command(server, thread_id, "input.respond", answer)).toMatchObject({ type: "success" });
      } else {
        const path = `/threads/${thread_id}/approvals/${id}`;
        expect((await server.send("POST", path, { type: "answer", text: "yes" })).status).toBe(200);
      }
      // The SDK's type leaves out the run's kwargs.
      const runs = (await client.runs.list(thread_id)) as (Run & { kwargs: object })[];
      const run = runs.find(({ kwargs }) => "command" in kwargs);
      expect(run).toMatchObject({ assistant_id: asking?.assistant_id, kwargs: { context: { who: "asking" } } });
    },
  );

  it("the input of run.start is the answer if the thread has an open question", async () => {
    const threadId = crypto.randomUUID();
    const reader = await openEvents(server, threadId);
    await start(threadId, "asker", {});
    await reader.until(isEnd);
    await start(threadId, "asker", "by input");
    expect(dataOf(await reader.until(isEnd), "values").at(-1)).toEqual({ answer: "by input" });
    await reader.leave();
  });

  it("run.start forks if its configuration names a checkpoint", async () => {
    const threadId = crypto.randomUUID();
    const { result } = await start(threadId, "counter", { value: 1 });
    await server.client.runs.join(threadId, String(result["run_id"]));
    const history = await server.client.threads.getHistory<{ value: number }>(threadId);
    const before = history.find(({ next }) => next.includes("add"));
    const config = { configurable: { thread_id: threadId, checkpoint_id: before?.checkpoint.checkpoint_id } };
    const fork = await start(threadId, "counter", { value: 41 }, { config });
    await server.client.runs.join(threadId, String(fork.result["run_id"]));
    const after = await server.client.threads.getState<{ value: number }>(threadId);
    expect(after.values.value).toBe(42);
    const next = await start(threadId, "counter", null);
    expect(next.type).toBe("success");
    expect((await server.client.threads.get(threadId)).config).not.toHaveProperty("configurable.checkpoint_id");
  });

  it("state.get returns the state, or parts of it, and its checkpoint", async () => {
    const threadId = crypto.randomUUID();
    const { result } = await start(threadId, "gated", { gate: "" });
    openGate("");
    await server.client.runs.join(threadId, String(result["run_id"]));
    const { checkpoint } = await server.client.threads.getState(threadId);
    expect(await command(server, threadId, "state.get", { namespace: [] })).toMatchObject({
      result: { values: { gate: "", passed: true }, checkpoint: { id: checkpoint.checkpoint_id, ns: "" } },
    });
    const part = await command(server, threadId, "state.get", { namespace: [], keys: ["passed"] });
    expect(part.result["values"]).toEqual({ passed: true });
    expect(await command(server, threadId, "state.get", { namespace: ["nowhere"] })).toMatchObject({
      type: "error",
      error: "no_such_namespace",
    });
  });

  it("agent.getTree returns the graphs of the newest run with their status", async () => {
    const threadId = crypto.randomUUID();
    const { result } = await start(threadId, "nestedAsker", {});
    await server.client.runs.join(threadId, String(result["run_id"]));
    expect((await command(server, threadId, "agent.getTree", {})).result["tree"]).toMatchObject({
      namespace: [],
      status: "interrupted",
      graph_name: "nestedAsker",
      children: [{ namespace: [expect.stringMatching(/^inside:/u)], status: "interrupted", graph_name: "inside" }],
    });
    const gate = crypto.randomUUID();
    const { result: open } = await start(crypto.randomUUID(), "gated", { gate });
    const run = await server.client.runs.list(threadId);
    expect(run).toHaveLength(1);
    openGate(gate);
    expect(open["run_id"]).toEqual(expect.any(String));
  });

  it.each([
    ["input.respond", { interrupt_id: "x", response: 1 }, "no_such_run"],
    ["state.get", {}, "no_such_run"],
    ["agent.getTree", {}, "no_such_run"],
    ["run.start", { input: {} }, "invalid_argument"],
    ["run.start", { assistant_id: "unknown", input: {} }, "invalid_argument"],
    ["run.start", { assistant_id: "counter", input: {}, multitask_strategy: "dance" }, "invalid_argument"],
    ["input.respond", {}, "invalid_argument"],
    ["input.inject", { namespace: [], message: { role: "user", content: "x" } }, "unknown_command"],
    ["state.listCheckpoints", {}, "unknown_command"],
    ["state.fork", { checkpoint_id: "x" }, "unknown_command"],
    ["subscription.reconnect", { run_id: "x" }, "not_supported"],
    ["subscription.subscribe", { channels: ["values"] }, "not_supported"],
  ])("%s with %j is refused as %s%s, with status 200", async (method, params, error) => {
    const response = await server.send("POST", `/threads/${crypto.randomUUID()}/commands`, { id: 1, method, params });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ type: "error", id: 1, error, message: expect.any(String) });
  });

  it("an invalid command or filter is a bad request", async () => {
    const threadId = crypto.randomUUID();
    for (const body of [{}, { id: -1, method: "run.start" }, { id: 1 }, "nonsense"]) {
      expect((await server.send("POST", `/threads/${threadId}/commands`, body)).status).toBe(400);
    }
    for (const body of [{}, { channels: [] }, { channels: ["values"], more: 1 }, { channels: ["values"], since: -1 }]) {
      expect((await server.send("POST", `/threads/${threadId}/stream/events`, body)).status).toBe(400);
    }
    expect((await server.send("POST", "/threads/nowhere/commands", { id: 1, method: "state.get" })).status).toBe(400);
    expect((await server.send("GET", `/threads/${threadId}/stream/events`)).status).toBe(426);
    expect(allChannels).toHaveLength(9);
  });

  it("the same command with the same key starts one run", async () => {
    const threadId = crypto.randomUUID();
    const headers = { "idempotency-key": "once" };
    const params = { assistant_id: "counter", input: { value: 1 } };
    const first = await command(server, threadId, "run.start", params, headers);
    const second = await command(server, threadId, "run.start", params, headers);
    expect(second.result).toEqual(first.result);
    expect(await server.client.runs.list(threadId)).toHaveLength(1);
  });
});
