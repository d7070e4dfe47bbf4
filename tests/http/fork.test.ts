import { afterEach, beforeEach, expect, test } from "vitest";
import { startTestServer, type TestServer } from "../support/test-server.ts";

let server: TestServer;
beforeEach(async () => {
  server = await startTestServer();
});
afterEach(async () => {
  await server.remove();
});

test("a run forked from a checkpoint leaves the session at its newest state, not at the fork", async () => {
  const { client } = server;
  const { thread_id: id } = await client.threads.create();
  await client.runs.wait(id, "counter", { input: { value: 1 } });
  const [, first] = await client.threads.getHistory(id);
  const checkpoint_id = first?.checkpoint.checkpoint_id ?? "";
  await client.runs.wait(id, "counter", {
    input: { value: 5 },
    config: { configurable: { checkpoint_id, colour: "red" } },
  });
  const afterFork = await client.threads.getState(id);
  expect(afterFork.checkpoint.checkpoint_id).not.toBe(checkpoint_id);
  expect((await client.threads.get(id)).config).toEqual({ configurable: { colour: "red" } });
  await client.runs.wait(id, "counter", { input: { value: 7 } });
  const newest = await client.threads.getState(id);
  expect(newest.parent_checkpoint?.checkpoint_id).not.toBe(checkpoint_id);
  expect(newest.checkpoint.checkpoint_id).not.toBe(afterFork.checkpoint.checkpoint_id);
});

test("a checkpoint id that is none is refused by its form", async () => {
  const { thread_id: id } = await server.client.threads.create();
  for (const body of [{ checkpoint_id: "../../x" }, { checkpoint: { checkpoint_id: "latest" } }]) {
    const answer = await server.send("POST", `/threads/${id}/runs`, { assistant_id: "counter", input: {}, ...body });
    expect(answer.status).toBe(400);
  }
});
