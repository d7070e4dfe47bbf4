import { afterAll, beforeAll, expect, test } from "vitest";
import { openGate } from "../../../support/test-graphs.ts";
import { startTestServer, type TestServer } from "../../../support/test-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.remove());

async function threadAfter(graph: string, input: Record<string, unknown>): Promise<string> {
  const { thread_id } = await server.client.threads.create();
  await server.client.runs.wait(thread_id, graph, { input });
  return thread_id;
}

test("a thread without a run has an empty state and no history", async () => {
  const { thread_id } = await server.client.threads.create();
  expect(await server.client.threads.getState(thread_id)).toMatchObject({
    values: {},
    next: [],
    tasks: [],
    created_at: null,
    checkpoint: null,
    parent_checkpoint: null,
  });
  expect(await server.client.threads.getHistory(thread_id)).toEqual([]);
});

test("the state has its checkpoint and its parent's, and the history begins with it", async () => {
  const threadId = await threadAfter("counter", { value: 1 });
  const state = await server.client.threads.getState(threadId);
  expect(state).toMatchObject({
    values: { value: 2 },
    next: [],
    checkpoint: { thread_id: threadId, checkpoint_ns: "" },
  });
  const history = await server.client.threads.getHistory(threadId);
  expect(history[0]).toEqual(state);
  expect(history[1]?.checkpoint).toEqual(state.parent_checkpoint);
  expect(history.at(-1)?.metadata).toMatchObject({ source: "input" });
});

test("the history is limited, continued and filtered, by GET and by POST", async () => {
  const threadId = await threadAfter("counter", { value: 1 });
  const all = await server.client.threads.getHistory(threadId);
  const [newest, second] = all;
  const before = newest?.checkpoint.checkpoint_id ?? "";
  const got = await (await server.send("GET", `/threads/${threadId}/history?limit=1&before=${before}`)).json();
  expect(got).toEqual([second]);
  const forms = [
    before,
    newest?.checkpoint,
    { configurable: { thread_id: threadId, checkpoint_id: before } },
    // A checkpoint with an unknown key, which is no configuration.
    { checkpoint_id: before, configurable: "none" },
  ];
  for (const form of forms) {
    const posted = await server.send("POST", `/threads/${threadId}/history`, { limit: 1, before: form });
    expect(await posted.json()).toEqual([second]);
  }
  const inputs = await server.client.threads.getHistory(threadId, { metadata: { source: "input" } });
  expect(inputs).toEqual(all.filter((state) => state.metadata?.["source"] === "input"));
  expect(inputs).toHaveLength(1);
});

test("an earlier state is found by its checkpoint, in the path or in a body", async () => {
  const threadId = await threadAfter("counter", { value: 1 });
  const earlier = (await server.client.threads.getHistory(threadId))[1];
  const checkpointId = earlier?.checkpoint.checkpoint_id ?? "";
  expect(await server.client.threads.getState(threadId, checkpointId)).toMatchObject({
    values: { value: 1 },
    next: ["add"],
  });
  const { thread_id: _id, ...checkpoint } = earlier?.checkpoint ?? {};
  for (const subgraphs of [true, "true"]) {
    const body = { checkpoint, subgraphs };
    const response = await server.send("POST", `/threads/${threadId}/state/checkpoint`, body);
    expect(await response.json()).toMatchObject({ values: { value: 1 } });
  }
});

test("an unknown checkpoint is 404", async () => {
  const threadId = await threadAfter("counter", { value: 1 });
  const unknown = crypto.randomUUID();
  const response = await server.send("GET", `/threads/${threadId}/state/${unknown}`);
  expect(response.status).toBe(404);
  expect(await response.text()).toBe(`Checkpoint ${unknown} not found`);
});

test("an update changes the state as its node would have, and returns the checkpoint", async () => {
  const threadId = await threadAfter("counter", { value: 1 });
  const written = await server.client.threads.updateState(threadId, { values: { value: 10 }, asNode: "add" });
  const state = await server.client.threads.getState(threadId);
  expect(state).toMatchObject({ values: { value: 10 }, next: [], metadata: { source: "update" } });
  expect(written.configurable).toEqual(state.checkpoint);
  expect(await server.client.threads.get(threadId)).toMatchObject({ values: { value: 10 } });
});

test("an update with null values at an earlier checkpoint forks it, and a run goes on from there", async () => {
  const threadId = await threadAfter("counter", { value: 1 });
  const earlier = (await server.client.threads.getHistory(threadId))[1];
  const checkpointId = earlier?.checkpoint.checkpoint_id ?? "";
  await server.client.threads.updateState(threadId, { values: null, checkpointId });
  expect(await server.client.threads.getState(threadId)).toMatchObject({ values: { value: 1 }, next: ["add"] });
  expect(await server.client.runs.wait(threadId, "counter", { input: null })).toEqual({ value: 2 });
});

test("an update is refused while a run is active", async () => {
  const { thread_id } = await server.client.threads.create();
  const run = await server.client.runs.create(thread_id, "gated", { input: { gate: "busy" } });
  await expect(server.client.threads.updateState(thread_id, { values: { passed: true } })).rejects.toThrow(
    "HTTP 409: Thread is busy",
  );
  openGate("busy");
  await server.client.runs.join(thread_id, run.run_id);
});

test("an update of a thread that has no graph yet, or by an unknown node, is 400", async () => {
  const { thread_id } = await server.client.threads.create();
  const refused = await server.send("POST", `/threads/${thread_id}/state`, { values: { value: 1 } });
  expect(refused.status).toBe(400);
  expect(await refused.text()).toContain(`Thread ${thread_id} has no graph ID`);
  const threadId = await threadAfter("counter", { value: 1 });
  const unknown = await server.send("POST", `/threads/${threadId}/state`, {
    values: { value: 1 },
    as_node: "missing-node",
  });
  expect(unknown.status).toBe(400);
  expect(await unknown.text()).toContain("missing-node");
});

test("a request that waits for a run receives all parallel questions", async () => {
  const { thread_id } = await server.client.threads.create();
  const asked = await server.client.runs.wait(thread_id, "twoDepths", { input: {} });
  const { interrupts } = await server.client.threads.get(thread_id);
  const open = Object.values(interrupts).flat();
  expect(open).toHaveLength(2);
  expect(asked).toMatchObject({ __interrupt__: expect.arrayContaining(open) });
});

test("an interrupted thread shows its question, and an answer continues it", async () => {
  const { thread_id } = await server.client.threads.create();
  const asked = await server.client.runs.wait(thread_id, "asker", { input: {} });
  expect(asked).toMatchObject({ __interrupt__: [{ value: { question: "Go on?" } }] });
  const state = await server.client.threads.getState(thread_id);
  expect(state).toMatchObject({
    next: ["ask"],
    tasks: [{ name: "ask", interrupts: [{ value: { question: "Go on?" } }] }],
  });
  const thread = await server.client.threads.get(thread_id);
  expect(thread.status).toBe("interrupted");
  expect(Object.keys(thread.interrupts)).toEqual([state.tasks[0]?.id]);
  expect(await server.client.runs.wait(thread_id, "asker", { command: { resume: "yes" } })).toEqual({ answer: "yes" });
  expect(await server.client.threads.get(thread_id)).toMatchObject({ status: "idle", interrupts: {} });
});

test("the state of a subgraph is included if requested", async () => {
  const { thread_id } = await server.client.threads.create();
  await server.client.runs.wait(thread_id, "nestedAsker", { input: {} });
  const place = (await server.client.threads.getState(thread_id)).tasks[0];
  const whole = (await server.client.threads.getState(thread_id, undefined, { subgraphs: true })).tasks[0];
  expect(place?.state).toBeNull();
  expect(place?.checkpoint).toMatchObject({ thread_id, checkpoint_ns: expect.stringMatching(/^inside:/) });
  expect(whole?.checkpoint).toBeNull();
  expect(whole?.state).toMatchObject({ next: ["ask"] });
});
