import { afterEach, beforeEach, expect, test } from "vitest";
import { startTestServer, type TestServer } from "../../../support/test-server.ts";

let server: TestServer;
beforeEach(async () => {
  server = await startTestServer();
});
afterEach(async () => {
  await server.remove();
});

test("a run from an earlier checkpoint leaves the session at its newest state, not at the fork", async () => {
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

test("a session's first message can be replaced: its first checkpoint can be forked, however it is named", async () => {
  const { client } = server;
  const { thread_id: id } = await client.threads.create();
  await client.runs.wait(id, "counter", { input: { value: 1 } });
  const first = (await client.threads.getHistory(id)).at(-1);
  const checkpoint = { thread_id: id, checkpoint_ns: "", checkpoint_id: first?.checkpoint.checkpoint_id ?? "" };
  // LangGraph gives it a UUID of no known variant.
  expect(checkpoint.checkpoint_id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-6[0-9a-f]{3}-ffff-/u);
  for (const from of [{ checkpoint }, { checkpoint_id: checkpoint.checkpoint_id }]) {
    const answer = await server.send("POST", `/threads/${id}/runs/wait`, {
      assistant_id: "counter",
      input: { value: 5 },
      ...from,
    });
    expect(await answer.json()).toEqual({ value: 6 });
  }
});

test("an invalid checkpoint id is refused", async () => {
  const { thread_id: id } = await server.client.threads.create();
  for (const body of [{ checkpoint_id: "../../x" }, { checkpoint: { checkpoint_id: "latest" } }]) {
    const answer = await server.send("POST", `/threads/${id}/runs`, { assistant_id: "counter", input: {}, ...body });
    expect(answer.status).toBe(400);
  }
});

test("a run from an unknown checkpoint is refused, and the session stays unchanged", async () => {
  const { client } = server;
  const { thread_id: id } = await client.threads.create();
  await client.runs.wait(id, "counter", { input: { value: 41 } });
  const missing = "1f0c0000-0000-6000-8000-000000000000";
  for (const from of [
    { checkpoint_id: missing },
    { checkpoint: { checkpoint_id: missing, checkpoint_ns: "" } },
    { config: { configurable: { checkpoint_id: missing } } },
  ]) {
    const answer = await server.send("POST", `/threads/${id}/runs`, { assistant_id: "counter", input: {}, ...from });
    expect(answer.status).toBe(404);
    expect(await answer.text()).toContain(`Checkpoint ${missing} not found`);
  }
  expect((await client.threads.getState(id)).values).toEqual({ value: 42 });
});

test("a run whose checkpoint is rolled back before its start fails, and the session stays unchanged", async () => {
  const { client } = server;
  const { thread_id: id } = await client.threads.create();
  await client.runs.wait(id, "counter", { input: { value: 1 } });
  const { run_id } = await client.runs.create(id, "counter", { input: { value: 41 } });
  await client.runs.join(id, run_id);
  const { checkpoint } = await client.threads.getState(id);
  const forked = await client.runs.create(id, "counter", {
    input: { value: 5 },
    checkpointId: checkpoint.checkpoint_id ?? "",
    afterSeconds: 1,
  });
  await client.runs.delete(id, run_id);
  await client.runs.join(id, forked.run_id);
  expect((await client.runs.get(id, forked.run_id)).status).toBe("error");
  expect((await client.threads.getState(id)).values).toEqual({ value: 2 });
});
