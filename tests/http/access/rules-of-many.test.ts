import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { byHeader, openRulesServers, type RulesServers } from "../../support/rules-servers.ts";
import { openGate } from "../../support/test-graphs.ts";
import type { TestServer } from "../../support/test-server.ts";

/** Users may change everything but the record that the request header names, which the rules refuse. */
const rules = `
  .authenticate(({ headers }) => ({ identity: headers.get("x-user"), keeps: headers.get("x-keeps") }))
  .on("*", ({ event, value, user }) => {
    const changes = ["threads:update", "threads:delete", "crons:delete"].includes(event);
    if (changes && [value.thread_id, value.cron_id].includes(user.keeps)) return false;
    if (event === "threads:create") Object.assign(value.metadata, { owner: user.identity });
    if (event.startsWith("threads:")) return { owner: user.identity };
  })`;
const graphs = {
  asking: join(import.meta.dirname, "..", "..", "fixtures", "graphs", "asking.ts:graph"),
  gated: join(import.meta.dirname, "..", "..", "support", "test-graphs.ts:gated"),
};

let servers: RulesServers;
let server: TestServer;
beforeAll(async () => {
  servers = await openRulesServers();
  server = await servers.serve(rules, { allowTruncate: true }, { graphs });
});
afterAll(() => servers.remove());

const Thread = z.looseObject({ thread_id: z.string() });
const Runs = z.array(z.looseObject({ run_id: z.string(), status: z.string() }));
const Cron = z.looseObject({ cron_id: z.string() });

let users = 0;

/** A new user, and their requests; `keeps` is what the rules do not let them change. */
function newUser() {
  users += 1;
  const name = `user-${users}`;
  const send = (method: string, path: string, body?: unknown, keeps = "nothing") =>
    server.send(method, path, body, { "x-user": name, "x-keeps": keeps });
  const json = async (method: string, path: string, body?: unknown): Promise<unknown> =>
    await (await send(method, path, body)).json();
  const thread = async (): Promise<string> => Thread.parse(await json("POST", "/threads", {})).thread_id;
  const threads = async () =>
    z
      .array(Thread)
      .parse(await json("POST", "/threads/search", {}))
      .map(({ thread_id }) => thread_id);
  const runs = async (id: string) => Runs.parse(await json("GET", `/threads/${id}/runs`));
  return { send, json, thread, threads, runs };
}

/** Two threads, each with an interrupted run; the first thread is the one to keep. */
async function twoThreads(user: ReturnType<typeof newUser>): Promise<[string, string]> {
  const ids: [string, string] = [await user.thread(), await user.thread()];
  for (const id of ids) await user.json("POST", `/threads/${id}/runs/wait`, { assistant_id: "asking", input: {} });
  return ids;
}

describe("a request over many records, one of which the rules refuse", () => {
  it("keeps that thread, and prunes the others", async () => {
    const user = newUser();
    const [kept, other] = await twoThreads(user);
    const body = { thread_ids: [kept, other] };
    const latest = await user.send("POST", "/threads/prune", { ...body, strategy: "keep_latest" }, kept);
    expect([latest.status, await latest.json()]).toEqual([200, { pruned_count: 1 }]);
    const history = async (id: string) => z.array(z.unknown()).parse(await user.json("GET", `/threads/${id}/history`));
    expect((await history(kept)).length).toBeGreaterThan(1);
    expect(await history(other)).toHaveLength(1);
    const pruned = await user.send("POST", "/threads/prune", body, kept);
    expect([pruned.status, await pruned.json()]).toEqual([200, { pruned_count: 1 }]);
    expect(await user.threads()).toEqual([kept]);
  });

  it("leaves that thread's run, and stops those of the others", async () => {
    const user = newUser();
    const ids = [await user.thread(), await user.thread()];
    const [kept = "", other = ""] = ids;
    for (const id of ids) {
      await user.json("POST", `/threads/${id}/runs`, { assistant_id: "gated", input: { gate: "never" } });
      await expect.poll(async () => (await user.runs(id))[0]?.status).toBe("running");
    }
    expect((await user.send("POST", "/runs/cancel", { status: "all" }, kept)).status).toBe(204);
    await expect.poll(async () => (await user.runs(other))[0]?.status).toBe("interrupted");
    expect((await user.runs(kept))[0]?.status).toBe("running");
  });

  it("keeps that record, and truncates all others", async () => {
    const user = newUser();
    const [kept, other] = await twoThreads(user);
    const make = async () =>
      Cron.parse(await user.json("POST", "/runs/crons", { assistant_id: "asking", schedule: "0 0 1 1 *" })).cron_id;
    const [, keptCron] = [await make(), await make()];
    const truncate = async (what: object, keeps: string) =>
      (await user.send("POST", "/internal/truncate", what, keeps)).status;
    expect(await truncate({ runs: true }, kept)).toBe(200);
    expect([(await user.runs(kept)).length, (await user.runs(other)).length]).toEqual([1, 0]);
    expect(await truncate({ threads: true }, kept)).toBe(200);
    expect(await user.threads()).toEqual([kept]);
    expect(await truncate({ crons: true }, keptCron)).toBe(200);
    const crons = z.array(Cron).parse(await user.json("POST", "/runs/crons/search", {}));
    expect(crons.map(({ cron_id }) => cron_id)).toEqual([keptCron]);
  });
});

// The rules are a module of this process: what they do before a change is handed to them here.
const shared: typeof globalThis & { beforeUpdate?: () => Promise<void> } = globalThis;

it("a cancel of all that waits leaves a run that has begun before its turn came", async () => {
  const waiting = `${byHeader}.on("threads:update", async () => { await globalThis.beforeUpdate?.(); })`;
  const own = await servers.serve(waiting, {}, { graphs });
  const { thread_id } = await own.client.threads.create();
  const gates = [crypto.randomUUID(), crypto.randomUUID()] as const;
  const start = (gate: string) =>
    own.client.runs.create(thread_id, "gated", { input: { gate }, multitaskStrategy: "enqueue" });
  const [first, second] = [await start(gates[0]), await start(gates[1])];
  const statusOf = async ({ run_id }: { run_id: string }) => (await own.client.runs.get(thread_id, run_id)).status;
  await expect.poll(() => statusOf(first)).toBe("running");
  shared.beforeUpdate = async () => {
    openGate(gates[0]);
    await expect.poll(() => statusOf(second)).toBe("running");
  };
  const answer = await own.send("POST", "/runs/cancel", { thread_id, status: "pending" });
  delete shared.beforeUpdate;
  openGate(gates[1]);
  await own.client.runs.join(thread_id, second.run_id);
  expect([answer.status, await statusOf(first), await statusOf(second)]).toEqual([204, "success", "success"]);
});
