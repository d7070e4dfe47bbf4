import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { z } from "zod";
import { openGate } from "../../support/test-graphs.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

const keys = { ada: "key-of-ada", bob: "key-of-bob" };
let server: TestServer;
beforeAll(async () => {
  const apiKeys = Object.entries(keys).map(([owner, key]) => ({ owner, key }));
  server = await startTestServer({ apiKeys, queueLimit: 4, drainSeconds: 0.1 });
});
afterAll(() => server.remove());

const send = (key: string, path: string, body: object): Promise<Response> =>
  server.send("POST", path, body, { "x-api-key": key });

/** A thread with a run that waits at its gate. */
async function busyThread(key: string): Promise<string> {
  const { thread_id } = z.looseObject({ thread_id: z.string() }).parse(await (await send(key, "/threads", {})).json());
  await begin(key, thread_id);
  const at = `/threads/${thread_id}/runs?status=running`;
  const running = async () => (await server.send("GET", at, undefined, { "x-api-key": key })).json();
  await expect.poll(running).toHaveLength(1);
  return thread_id;
}

const begin = (key: string, id: string): Promise<Response> =>
  send(key, `/threads/${id}/runs`, { assistant_id: "gated", input: { gate: id }, multitask_strategy: "enqueue" });

it("one key may fill half of the queue, and the others have the rest (S4)", async () => {
  const [ofAda, ofBob] = await Promise.all([busyThread(keys.ada), busyThread(keys.bob)]);
  const statuses: number[] = [];
  for (let count = 0; count < 3; count += 1) statuses.push((await begin(keys.ada, ofAda)).status);
  expect(statuses).toEqual([200, 200, 429]);
  const refused = await begin(keys.ada, ofAda);
  expect([refused.status, await refused.text()]).toEqual([429, expect.stringContaining("runs of this owner")]);
  expect((await begin(keys.bob, ofBob)).status).toBe(200);
  expect((await begin(keys.bob, ofBob)).status).toBe(200);
  openGate(ofAda);
  openGate(ofBob);
});

it("the same limit holds for a user of auth.path", async () => {
  const file = join(server.config.dataDir, "langgraph.json");
  const graphs = { gated: `${join(import.meta.dirname, "../../support/test-graphs.ts")}:gated` };
  const auth = { path: `${join(import.meta.dirname, "../../fixtures/graphs/auth.ts")}:auth` };
  await writeFile(file, JSON.stringify({ graphs, auth }));
  const own = await startTestServer({ graphs: file, queueLimit: 4, drainSeconds: 0.1, maxConcurrentRuns: 1 });
  const by = (name: string, path: string, body: object): Promise<Response> =>
    own.send("POST", path, body, { authorization: `Bearer token-of-${name}` });
  const start = async (name: string): Promise<number> =>
    (await by(name, "/runs", { assistant_id: "gated", input: { gate: "never" } })).status;
  expect(await start("ada")).toBe(200);
  const statuses = [await start("ada"), await start("ada"), await start("ada"), await start("bob")];
  expect(statuses.slice(0, 1)).toEqual([200]);
  expect([statuses.includes(429), statuses.at(-1)]).toEqual([true, 200]);
  await own.remove();
});
