import { afterAll, beforeAll, expect, test } from "vitest";
import { pruneThreads } from "../../../support/requests/both-sdks.ts";
import { openGate } from "../../../support/test-graphs.ts";
import { startTestServer, type TestServer } from "../../../support/test-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.remove());

async function counted(times: number): Promise<string> {
  const { thread_id } = await server.client.threads.create();
  for (let index = 0; index < times; index += 1) {
    await server.client.runs.wait(thread_id, "counter", { input: { value: index } });
  }
  return thread_id;
}

test("delete removes the existing threads, and returns their number", async () => {
  const [first, second] = [await counted(1), await counted(1)];
  const unknown = crypto.randomUUID();
  expect(await pruneThreads(server, [first, first, unknown])).toEqual({ pruned_count: 1 });
  await expect(server.client.threads.get(first)).rejects.toMatchObject({ status: 404 });
  expect((await server.client.threads.get(second)).thread_id).toBe(second);
});

test("keep_latest keeps the thread and its latest state, without its history", async () => {
  const id = await counted(3);
  const before = await server.client.threads.getState(id);
  expect((await server.client.threads.getHistory(id)).length).toBeGreaterThan(1);
  expect(await pruneThreads(server, [id], { strategy: "keep_latest" })).toEqual({ pruned_count: 1 });
  const after = await server.client.threads.getState(id);
  expect([after.values, after.checkpoint]).toEqual([before.values, before.checkpoint]);
  expect(await server.client.threads.getHistory(id)).toHaveLength(1);
  expect(await server.client.runs.wait(id, "counter", { input: { value: 9 } })).toMatchObject({ value: 10 });
});

test("keep_latest skips a thread with an active run", async () => {
  const { thread_id: id } = await server.client.threads.create();
  const run = await server.client.runs.create(id, "gated", { input: { gate: "prune" } });
  expect(await pruneThreads(server, [id], { strategy: "keep_latest" })).toEqual({ pruned_count: 0 });
  openGate("prune");
  await server.client.runs.join(id, run.run_id);
  expect(await server.client.runs.get(id, run.run_id)).toMatchObject({ status: "success" });
});

test.each([{}, { thread_ids: ["x"] }, { thread_ids: [], strategy: "all" }])("%j is 400", async (body) => {
  expect((await server.send("POST", "/threads/prune", body)).status).toBe(400);
});
