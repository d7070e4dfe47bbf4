import { RemoteGraph } from "@langchain/langgraph/remote";
import { Client } from "@langchain/langgraph-sdk";
import { Client as SecondClient } from "langgraph-sdk-2";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { showLater } from "@millrace/testing/clock";
import { eventsOf } from "@millrace/testing/read-events";
import { openGate } from "../../support/test-graphs.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.remove());
afterEach(() => {
  vi.restoreAllMocks();
});

const hello = { messages: [{ role: "user", content: "Hi", id: "hi" }] };

/** The oldest version that an unpinned install may get, and the newest (wire contract, section 0). */
const versions = {
  "1.15.0": (apiUrl: string) => new Client({ apiUrl, callerOptions: { maxRetries: 0 } }),
  // The methods used here are the same in both versions; only the types differ.
  "2.0.0": (apiUrl: string) => new SecondClient({ apiUrl, callerOptions: { maxRetries: 0 } }) as unknown as Client,
};

/** Ends a flood of which a reader has read nothing for some seconds. */
async function comeToEnd(threadId: string, runId: string, { events, gate }: { events: number; gate: string }) {
  const response = await server.send("GET", `/threads/${threadId}/runs/${runId}/stream`);
  for await (const { id } of eventsOf(response)) if (id === String(events / 2)) break;
  showLater(3_000);
  openGate(gate);
  await server.client.runs.join(threadId, runId);
}

describe.each(Object.keys(versions) as (keyof typeof versions)[])("the SDK %s", (version) => {
  const client = (): Client => versions[version](server.url);
  const newThread = async (): Promise<string> => (await client().threads.create()).thread_id;

  it("finds assistants, their graph and their schemas", async () => {
    const { assistants } = client();
    const [found] = await assistants.search({ graphId: "counter", limit: 1 });
    const id = found?.assistant_id ?? "";
    expect(await assistants.get(id)).toMatchObject({ graph_id: "counter" });
    expect((await assistants.getGraph(id)).nodes.map(({ id: node }) => node)).toContain("add");
    expect((await assistants.getSchemas(id)).graph_id).toBe("counter");
    await expect(assistants.get(crypto.randomUUID())).rejects.toThrow("HTTP 404: Assistant not found");
  });

  it("creates, changes, searches and deletes threads", async () => {
    const { threads } = client();
    const { thread_id } = await threads.create({ metadata: { version } });
    expect((await threads.get(thread_id)).status).toBe("idle");
    await threads.update(thread_id, { metadata: { seen: true } });
    const [found] = await threads.search({ metadata: { version, seen: true } });
    expect(found?.thread_id).toBe(thread_id);
    const copied: unknown = await threads.copy(thread_id);
    expect(copied).toMatchObject({ metadata: { version } });
    await threads.delete(thread_id);
    await expect(threads.get(thread_id)).rejects.toThrow(`HTTP 404: Thread with ID ${thread_id} not found`);
  });

  it("streams a run in every mode, and the final state comes last", async () => {
    const threadId = await newThread();
    const stream = client().runs.stream(threadId, "talker", {
      input: hello,
      streamMode: ["values", "updates", "messages-tuple", "custom", "tasks", "debug"],
    });
    const names: string[] = [];
    for await (const { event } of stream) names.push(event);
    expect(names[0]).toBe("metadata");
    expect(new Set(names)).toEqual(new Set(["metadata", "values", "updates", "messages", "tasks", "debug"]));
    expect(names).not.toContain("end");
  });

  it("gets the text so far in the older messages mode", async () => {
    const threadId = await newThread();
    const texts: unknown[] = [];
    for await (const { event, data } of client().runs.stream(threadId, "talker", {
      input: hello,
      streamMode: "messages",
    })) {
      if (event === "messages/partial") texts.push(data[0]?.content);
    }
    expect(texts.at(-1)).toBe("Hello there");
    expect(texts[0]).toBe("H");
  });

  it("gets all events of a run although it reads slowly", async () => {
    const threadId = await newThread();
    const input = { events: 2000, size: 20_000, gate: crypto.randomUUID() };
    const received: unknown[] = [];
    for await (const { event, data } of client().runs.stream(threadId, "flood", { input, streamMode: "custom" })) {
      if (event === "metadata") await comeToEnd(threadId, data.run_id, input);
      else received.push(data);
    }
    expect(received).toEqual(Array.from({ length: input.events }, (_, at) => ({ at, text: expect.any(String) })));
  }, 20_000);

  it("resumes a run that a restart of the server has interrupted", async () => {
    const first = await startTestServer({ drainSeconds: 0.1 });
    const gate = crypto.randomUUID();
    const own = versions[version](first.url);
    const { thread_id } = await own.threads.create();
    let second: TestServer | undefined;
    const events: unknown[] = [];
    const stream = own.runs.stream(thread_id, "gated", { input: { gate }, streamMode: ["custom", "values"] });
    for await (const { event, data } of stream) {
      events.push({ event, data });
      if (event !== "custom" || second !== undefined) continue;
      await first.close();
      second = await first.restart({ port: Number(new URL(first.url).port) });
      openGate(gate);
    }
    expect(events.at(-1)).toMatchObject({ event: "values", data: { passed: true } });
    expect(events).toContainEqual({ event: "metadata", data: expect.objectContaining({ attempt: 2 }) });
    await (second ?? first).remove();
  }, 20_000);

  it("gets the names of subgraphs in the events of a stream", async () => {
    const stream = client().runs.stream(await newThread(), "nested", {
      input: hello,
      streamMode: "values",
      streamSubgraphs: true,
    });
    const names: string[] = [];
    for await (const { event } of stream) names.push(event.replace(/:[^|]+/u, ""));
    expect(new Set(names)).toEqual(new Set(["metadata", "values", "values|inside"]));
  });

  it("waits for values, and throws the error of a failed run", async () => {
    const { runs } = client();
    expect(await runs.wait(await newThread(), "counter", { input: { value: 1 } })).toEqual({ value: 2 });
    expect(await runs.wait(null, "counter", { input: { value: 3 } })).toEqual({ value: 4 });
    await expect(runs.wait(await newThread(), "failing", { input: {} })).rejects.toThrow("out of luck");
  });

  it("starts, joins, lists and cancels runs", async () => {
    const { runs, threads } = client();
    const threadId = await newThread();
    const gate = crypto.randomUUID();
    const run = await runs.create(threadId, "gated", { input: { gate }, streamResumable: true });
    await expect(runs.create(threadId, "counter", { input: {} })).rejects.toThrow("HTTP 422");
    openGate(gate);
    expect(await runs.join(threadId, run.run_id)).toMatchObject({ passed: true });
    const replayed: string[] = [];
    for await (const { event } of runs.joinStream(threadId, run.run_id, { lastEventId: "-1" })) replayed.push(event);
    expect(replayed).toContain("values");
    const second = await runs.create(threadId, "gated", { input: { gate: crypto.randomUUID() } });
    await runs.cancel(threadId, second.run_id, true);
    expect((await runs.get(threadId, second.run_id)).status).toBe("interrupted");
    expect(await runs.list(threadId)).toHaveLength(2);
    await runs.delete(threadId, second.run_id);
    expect(await runs.list(threadId)).toHaveLength(1);
    expect((await threads.get(threadId)).status).toBe("idle");
  });

  it("answers an interrupt, and sees the question in the state", async () => {
    const { runs, threads } = client();
    const threadId = await newThread();
    await runs.wait(threadId, "asker", { input: {} });
    const { next, tasks } = await threads.getState(threadId);
    expect(next).toEqual(["ask"]);
    expect(tasks[0]?.interrupts[0]?.value).toEqual({ question: "Go on?" });
    expect((await threads.get(threadId)).status).toBe("interrupted");
    expect(await runs.wait(threadId, "asker", { command: { resume: "yes" } })).toEqual({ answer: "yes" });
  });

  it("updates the state, reads the history and forks", async () => {
    const { runs, threads } = client();
    const threadId = await newThread();
    await runs.wait(threadId, "counter", { input: { value: 1 } });
    await threads.updateState(threadId, { values: { value: 10 } });
    expect((await threads.getState<{ value: number }>(threadId)).values.value).toBe(10);
    const history = await threads.getHistory<{ value: number }>(threadId, { limit: 10 });
    const start = history.find(({ next }) => next.includes("add"));
    const { checkpoint_id: checkpointId } = start?.checkpoint ?? {};
    if (typeof checkpointId !== "string") throw new Error("the history has no start");
    expect((await threads.getState<{ value: number }>(threadId, checkpointId)).values.value).toBe(1);
    expect(await runs.wait(threadId, "counter", { input: null, checkpointId })).toEqual({ value: 2 });
  });

  it("works behind a RemoteGraph, which is used like a local graph", async () => {
    const graph = new RemoteGraph({ graphId: "counter", client: client() });
    const config = { configurable: { thread_id: await newThread() } };
    expect(await graph.invoke({ value: 4 }, config)).toEqual({ value: 5 });
    expect((await graph.getState(config)).values).toEqual({ value: 5 });
    await graph.updateState(config, { value: 20 });
    const updates: unknown[] = [];
    for await (const update of await graph.stream({ value: 7 }, { ...config, streamMode: "updates" }))
      updates.push(update);
    expect(updates).toEqual([{ add: { value: 8 } }]);
    expect((await graph.getGraphAsync()).nodes).toHaveProperty("add");
    const failing = new RemoteGraph({ graphId: "failing", client: client() });
    await expect(failing.invoke({}, { configurable: { thread_id: await newThread() } })).rejects.toThrow("out of luck");
  });
});
