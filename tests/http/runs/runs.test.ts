import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { openGate } from "../../support/test-graphs.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.remove());

const newThread = async (): Promise<string> => (await server.client.threads.create()).thread_id;

test("a background run is admitted as pending and ends with success", async () => {
  const threadId = await newThread();
  const run = await server.client.runs.create(threadId, "counter", { input: { value: 1 }, metadata: { who: "me" } });
  expect(run).toMatchObject({
    thread_id: threadId,
    status: "pending",
    multitask_strategy: "reject",
    metadata: { who: "me" },
  });
  expect(run).toMatchObject({
    kwargs: { stream_mode: ["values"], subgraphs: false, resumable: false, temporary: false },
  });
  expect(await server.client.runs.join(threadId, run.run_id)).toEqual({ value: 2 });
  expect(await server.client.runs.get(threadId, run.run_id)).toMatchObject({ status: "success" });
});

test("the answer has the location of the run", async () => {
  const threadId = await newThread();
  const response = await server.send("POST", `/threads/${threadId}/runs`, { assistant_id: "counter", input: {} });
  const run = z.object({ run_id: z.string() }).parse(await response.json());
  expect(response.headers.get("content-location")).toBe(`/threads/${threadId}/runs/${run.run_id}`);
  await server.client.runs.join(threadId, run.run_id);
});

test("a failed run answers with its error, and the thread has it too", async () => {
  const threadId = await newThread();
  const response = await server.send("POST", `/threads/${threadId}/runs/wait`, { assistant_id: "failing", input: {} });
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({ __error__: { error: "RangeError", message: "out of luck" } });
  expect(await server.client.threads.get(threadId)).toMatchObject({ status: "error" });
  await expect(server.client.runs.wait(threadId, "failing", { input: {} })).rejects.toThrow("out of luck");
});

test("runs are listed newest first, paged, filtered and with selected fields", async () => {
  const threadId = await newThread();
  const ids: string[] = [];
  for (const graph of ["counter", "counter", "failing"]) {
    const run = await server.client.runs.create(threadId, graph, { input: {} });
    ids.unshift(run.run_id);
    await server.client.runs.join(threadId, run.run_id);
  }
  const idsOf = (runs: { run_id: string }[]): string[] => runs.map((run) => run.run_id);
  expect(idsOf(await server.client.runs.list(threadId))).toEqual(ids);
  expect(idsOf(await server.client.runs.list(threadId, { limit: 1, offset: 1 }))).toEqual(ids.slice(1, 2));
  expect(idsOf(await server.client.runs.list(threadId, { status: "error" }))).toEqual(ids.slice(0, 1));
  const cut = await server.send("GET", `/threads/${threadId}/runs?select=run_id,status&limit=1`);
  expect(await cut.json()).toEqual([{ run_id: ids[0], status: "error" }]);
});

test("a busy thread refuses a second run by default and queues it with enqueue", async () => {
  const threadId = await newThread();
  const first = await server.client.runs.create(threadId, "gated", { input: { gate: "queue" } });
  await expect(server.client.runs.create(threadId, "counter", { input: {} })).rejects.toThrow(
    "HTTP 422: Thread is already running a task. Wait for it to finish or choose a different multitask strategy.",
  );
  const second = await server.client.runs.create(threadId, "counter", {
    input: { value: 5 },
    multitaskStrategy: "enqueue",
  });
  expect(await server.client.threads.get(threadId)).toMatchObject({ status: "busy" });
  openGate("queue");
  expect(await server.client.runs.join(threadId, second.run_id)).toMatchObject({ value: 6 });
  expect(await server.client.runs.get(threadId, first.run_id)).toMatchObject({ status: "success" });
});

test("a cancelled run is interrupted; cancelling it again does nothing", async () => {
  const threadId = await newThread();
  const run = await server.client.runs.create(threadId, "gated", { input: { gate: "cancelled" } });
  const path = `/threads/${threadId}/runs/${run.run_id}/cancel`;
  expect((await server.send("POST", `${path}?wait=1&action=interrupt`)).status).toBe(204);
  expect(await server.client.runs.get(threadId, run.run_id)).toMatchObject({ status: "interrupted" });
  expect((await server.send("POST", `${path}?wait=0`)).status).toBe(202);
});

test("a rolled back run is deleted with what it wrote", async () => {
  const threadId = await newThread();
  await server.client.runs.wait(threadId, "counter", { input: { value: 1 } });
  const before = await server.client.threads.getState(threadId);
  const run = await server.client.runs.create(threadId, "gated", { input: { gate: "rolled back" } });
  await server.client.runs.cancel(threadId, run.run_id, true, "rollback");
  await expect(server.client.runs.get(threadId, run.run_id)).rejects.toThrow("HTTP 404: Run not found");
  expect((await server.client.threads.get(threadId)).values).toEqual(before.values);
});

test("a deleted run is 404", async () => {
  const threadId = await newThread();
  const run = await server.client.runs.create(threadId, "counter", { input: {} });
  await server.client.runs.join(threadId, run.run_id);
  await server.client.runs.delete(threadId, run.run_id);
  expect(await server.client.runs.list(threadId)).toEqual([]);
});

test("a run on a missing thread is 404, or creates the thread with if_not_exists", async () => {
  const threadId = crypto.randomUUID();
  await expect(server.client.runs.wait(threadId, "counter", { input: { value: 1 } })).rejects.toThrow(
    `HTTP 404: Thread with ID ${threadId} not found`,
  );
  expect(await server.client.runs.wait(threadId, "counter", { input: { value: 1 }, ifNotExists: "create" })).toEqual({
    value: 2,
  });
});

test("a run gets its configuration, its context and the client's x- headers, never its key", async () => {
  const body = { assistant_id: "mirror", config: { configurable: { color: "red" } }, context: { size: 1 }, input: {} };
  const response = await server.send("POST", "/runs/wait", body, { "x-tone": "warm", "x-api-key": "secret" });
  const text = await response.text();
  expect(JSON.parse(text)).toMatchObject({
    seen: { configurable: { color: "red", "x-tone": "warm", graph_id: "mirror" }, context: { size: 1 } },
  });
  expect(text).not.toContain("secret");
});

test("the configuration of a run is stored in the thread", async () => {
  const threadId = await newThread();
  const config = { configurable: { color: "red" } };
  await server.client.runs.wait(threadId, "mirror", { input: {}, config });
  expect(await server.client.threads.get(threadId)).toMatchObject({ config });
  const values = await server.client.runs.wait(threadId, "mirror", { input: {} });
  expect(values).toMatchObject({ seen: { configurable: { color: "red" } } });
});

test("a stateless run leaves no thread behind unless it keeps it", async () => {
  const before = await server.client.threads.count();
  expect(await server.client.runs.wait(null, "counter", { input: { value: 1 } })).toEqual({ value: 2 });
  await expect.poll(() => server.client.threads.count()).toBe(before);
  await (
    await server.send("POST", "/runs/wait", { assistant_id: "counter", input: { value: 1 }, on_completion: "keep" })
  ).text();
  expect(await server.client.threads.count()).toBe(before + 1);
  await expect(server.client.runs.wait(null, "unknown", { input: {} })).rejects.toThrow(
    'HTTP 404: No assistant found for "unknown". Make sure the assistant ID is for a valid assistant or a valid graph ID.',
  );
  expect(await server.client.threads.count()).toBe(before + 1);
});

test("a long wait receives newlines as keep-alive and is still JSON", async () => {
  const threadId = await newThread();
  const body = { assistant_id: "gated", input: { gate: "slow" } };
  const response = await server.send("POST", `/threads/${threadId}/runs/wait`, body);
  // The headers and the first newline have arrived, so the run has waited for a second.
  openGate("slow");
  const text = await response.text();
  expect(text).toMatch(/^\n+\{/);
  expect(JSON.parse(text)).toEqual({ gate: "slow", passed: true });
});

test("a delayed run waits and can be cancelled meanwhile", async () => {
  const threadId = await newThread();
  const run = await server.client.runs.create(threadId, "counter", { input: {}, afterSeconds: 3_600 });
  await server.client.runs.cancel(threadId, run.run_id, true);
  expect(await server.client.runs.get(threadId, run.run_id)).toMatchObject({ status: "interrupted" });
});
