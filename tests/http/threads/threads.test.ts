import { afterAll, beforeAll, expect, test } from "vitest";
import { openGate } from "../../support/test-graphs.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.remove());

test("a new thread is idle and has neither values nor interrupts", async () => {
  const thread = await server.client.threads.create({ metadata: { topic: "new" } });
  expect(thread).toMatchObject({ status: "idle", metadata: { topic: "new" }, config: {} });
  expect(thread).not.toHaveProperty("values");
  expect(thread).not.toHaveProperty("interrupts");
  expect(thread.thread_id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
  expect(await server.client.threads.get(thread.thread_id)).toEqual(thread);
});

test("an id that exists is refused, or its thread is returned with if_exists", async () => {
  const threadId = crypto.randomUUID();
  const thread = await server.client.threads.create({ threadId });
  expect(thread.thread_id).toBe(threadId);
  await expect(server.client.threads.create({ threadId })).rejects.toThrow("HTTP 409: Thread already exists");
  expect(await server.client.threads.create({ threadId, ifExists: "do_nothing" })).toEqual(thread);
});

test("after a run the thread has its values and names its graph", async () => {
  const { thread_id } = await server.client.threads.create();
  await server.client.runs.wait(thread_id, "counter", { input: { value: 1 } });
  const thread = await server.client.threads.get(thread_id);
  expect(thread).toMatchObject({
    status: "idle",
    values: { value: 2 },
    interrupts: {},
    metadata: { graph_id: "counter" },
  });
});

test("a patch merges metadata", async () => {
  const { thread_id } = await server.client.threads.create({ metadata: { a: 1, b: 1 } });
  const patched = await server.client.threads.update(thread_id, { metadata: { b: 2 } });
  expect(patched).toMatchObject({ metadata: { a: 1, b: 2 } });
});

test("a search filters by nested metadata, ids and status, pages and counts", async () => {
  const made = [];
  for (const order of [1, 2, 3]) {
    made.push(await server.client.threads.create({ metadata: { set: { name: "searched" }, order } }));
  }
  const metadata = { set: { name: "searched" } };
  const response = await server.send("POST", "/threads/search", { metadata, limit: 2 });
  expect(response.headers.get("x-pagination-total")).toBe("3");
  expect(response.headers.get("x-pagination-next")).toBe("2");
  expect(await response.json()).toMatchObject([{ metadata: { order: 3 } }, { metadata: { order: 2 } }]);
  expect(await server.client.threads.count({ metadata })).toBe(3);
  expect(await server.client.threads.count({ metadata, status: "busy" })).toBe(0);
  const ids = made.map((thread) => thread.thread_id);
  expect(
    await server.client.threads.search({ ids, select: ["thread_id"], sortBy: "created_at", sortOrder: "asc" }),
  ).toEqual(ids.map((thread_id) => ({ thread_id })));
});

test("a search by lists that are too long to compare in pairs is refused, and delays no other request", async () => {
  const list = Array.from({ length: 2000 }, (_, order) => ({ order }));
  await server.client.threads.create({ metadata: { list } });
  const response = await server.send("POST", "/threads/search", { metadata: { list: list.toReversed() } });
  expect([response.status, await response.text()]).toEqual([413, expect.stringContaining("fewer elements")]);
});

test("deleting a thread stops its run and removes everything", async () => {
  const { thread_id } = await server.client.threads.create();
  const run = await server.client.runs.create(thread_id, "gated", { input: { gate: "deleted" } });
  await server.client.threads.delete(thread_id);
  await expect(server.client.threads.get(thread_id)).rejects.toThrow(`HTTP 404: Thread with ID ${thread_id} not found`);
  await expect(server.client.runs.get(thread_id, run.run_id)).rejects.toThrow("HTTP 404: Run not found");
  openGate("deleted");
});

test("a copy has the state and history of its source, and is independent of it", async () => {
  const { thread_id } = await server.client.threads.create({ metadata: { topic: "copied" } });
  await server.client.runs.wait(thread_id, "talker", { input: { messages: [{ role: "user", content: "hi" }] } });
  const copy = await server.client.threads.copy(thread_id);
  // The client's type has no result; the server answers with the new thread.
  const { thread_id: copyId } = copy as unknown as { thread_id: string };
  expect(copy).toMatchObject({ status: "idle", metadata: { topic: "copied", thread_id: copyId, graph_id: "talker" } });
  const [before, after] = await Promise.all([
    server.client.threads.getState(thread_id),
    server.client.threads.getState(copyId),
  ]);
  expect(after.values).toEqual(before.values);
  const histories = await Promise.all([thread_id, copyId].map((id) => server.client.threads.getHistory(id)));
  expect(histories[1]?.length).toBe(histories[0]?.length);
  await server.client.runs.wait(copyId, "talker", { input: { messages: [{ role: "user", content: "more" }] } });
  expect((await server.client.threads.getState(thread_id)).values).toEqual(before.values);
});

test("a thread survives a restart of the server", async () => {
  const first = await startTestServer();
  try {
    const { thread_id } = await first.client.threads.create();
    await first.client.runs.wait(thread_id, "counter", { input: { value: 1 } });
    await first.close();
    const second = await first.restart();
    expect(await second.client.threads.get(thread_id)).toMatchObject({ values: { value: 2 } });
    await second.close();
  } finally {
    await first.remove();
  }
});
