import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { byHeader, openRulesServers } from "../../support/rules-servers.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

const ada = { "x-api-key": "key-of-ada" };
const bob = { "x-api-key": "key-of-bob" };
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({
    apiKeys: ["ada", "bob"].map((owner) => ({ owner, key: `key-of-${owner}` })),
    approvalTimeoutHours: 2,
  });
});
afterAll(() => server.remove());

const Rows = z.array(z.looseObject({}));
type Headers = Record<string, string>;

async function get(path: string, headers: Headers = ada): Promise<{ rows: z.infer<typeof Rows>; next: string | null }> {
  const answer = await server.send("GET", path, undefined, headers);
  if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`);
  return { rows: Rows.parse(await answer.json()), next: answer.headers.get("x-pagination-next") };
}

/** All pages of a list. */
async function pages(path: string, headers: Headers = ada): Promise<z.infer<typeof Rows>> {
  const all: z.infer<typeof Rows> = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const { rows, next }: Awaited<ReturnType<typeof get>> = await get(
      `${path}${cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`}`,
      headers,
    );
    all.push(...rows);
    cursor = next;
  }
  return all;
}

async function thread(headers: Headers = ada, metadata: object = {}): Promise<string> {
  const answer = await server.send("POST", "/threads", { metadata }, headers);
  return z.object({ thread_id: z.string() }).parse(await answer.json()).thread_id;
}

async function run(threadId: string, body: object, headers: Headers = ada): Promise<void> {
  await (await server.send("POST", `/threads/${threadId}/runs/wait`, body, headers)).text();
}

const ask = { assistant_id: "asker", input: {} };

describe("approvals of all threads", () => {
  it("GET /approvals 200: pending ones, oldest first, with their threads, in pages", async () => {
    const threads = [await thread(ada, { name: "The first" }), await thread(), await thread()];
    for (const id of threads) await run(id, ask);
    await run(await thread(bob), ask, bob);
    const waiting = await pages("/approvals?limit=2");
    expect(waiting.map(({ thread_id }) => thread_id)).toEqual(threads);
    expect(waiting[0]).toMatchObject({
      status: "pending",
      kind: expect.any(String),
      question: "Go on?",
      allowed_decisions: expect.any(Array),
      hash: null,
      expires_at: null,
      thread: { name: "The first", graph_id: "asker", parent: null },
    });
    // The same as in the list of the thread.
    const [ofThread] = (await get(`/threads/${threads[0]}/approvals`)).rows;
    expect(waiting[0]).toMatchObject(ofThread ?? { missing: true });
    expect((await get(`/approvals?thread_id=${threads[1]}`)).rows).toHaveLength(1);
    expect((await get("/approvals?graph_id=counter")).rows).toEqual([]);
    expect((await get("/approvals?graph_id=asker")).rows).toHaveLength(3);

    await run(threads[1] ?? "", { assistant_id: "asker", command: { resume: "yes" } });
    expect((await get("/approvals")).rows.map(({ thread_id }) => thread_id)).toEqual([threads[0], threads[2]]);
    expect((await get("/approvals?status=answered")).rows).toMatchObject([
      { thread_id: threads[1], status: "answered", decided_by: "person", run_id: expect.any(String) },
    ]);
    await run(threads[2] ?? "", ask);
    expect((await get("/approvals?status=stale")).rows).toMatchObject([{ thread_id: threads[2] }]);
  });

  it("GET /approvals 400: an invalid status, limit and cursor", async () => {
    for (const wrong of ["status=open", "limit=0", "limit=1001", "cursor=x", "thread_id=x"]) {
      expect((await server.send("GET", `/approvals?${wrong}`, undefined, ada)).status, wrong).toBe(400);
    }
  });

  it("is empty for a user who sees no thread by the rules", async () => {
    const servers = await openRulesServers();
    const ruled = await servers.serve(
      `${byHeader}.on("threads", ({ value, user, event }) => {
        if (event === "threads:create") value.metadata = { ...value.metadata, owner: user.identity };
        return { owner: user.identity };
      })`,
    );
    const made = await ruled.send("POST", "/threads", {}, { "x-user": "ada" });
    const { thread_id } = z.object({ thread_id: z.string() }).parse(await made.json());
    const waits = { assistant_id: "asking", input: {} };
    await (await ruled.send("POST", `/threads/${thread_id}/runs/wait`, waits, { "x-user": "ada" })).text();
    const seen = async (path: string, user: string): Promise<number> =>
      Rows.parse(await (await ruled.send("GET", path, undefined, { "x-user": user })).json()).length;
    expect([await seen("/runs", "ada"), await seen("/runs", "bob")]).toEqual([1, 0]);
    expect([await seen("/approvals", "ada"), await seen("/approvals", "bob")]).toEqual([1, 0]);
    expect([await seen("/runs/histogram", "ada"), await seen("/runs/histogram", "bob")]).toEqual([1, 0]);
    await servers.remove();
  });
});

describe("runs of all threads", () => {
  it("GET /runs 200: newest first, with their times and causes, filtered, in pages", async () => {
    const from = new Date().toISOString();
    const [one, other] = [await thread(), await thread()];
    for (let count = 0; count < 3; count += 1) await run(one, { assistant_id: "counter", input: { value: count } });
    await run(other, { assistant_id: "failing", input: {} });
    await run(await thread(bob), { assistant_id: "counter", input: {} }, bob);
    const all = await pages(`/runs?limit=2&from=${from}`);
    expect(all.map(({ thread_id }) => thread_id)).toEqual([other, one, one, one]);
    expect(all[0]).toMatchObject({
      graph_id: "failing",
      status: "error",
      error_code: "RangeError",
      attempts: 1,
      started_by: { kind: "client", id: null },
      parent: null,
    });
    const times = z.looseObject({ queued_at: z.string(), started_at: z.string(), ended_at: z.string() }).parse(all[1]);
    expect([times.queued_at, times.started_at, times.ended_at].toSorted()).toEqual([
      times.queued_at,
      times.started_at,
      times.ended_at,
    ]);
    expect(all.some((row) => "kwargs" in row)).toBe(false);
    const count = async (filter: string): Promise<number> => (await get(`/runs?from=${from}&${filter}`)).rows.length;
    expect(await count("status=success")).toBe(3);
    expect(await count("graph_id=failing")).toBe(1);
    expect(await count(`assistant_id=${String(all[1]?.["assistant_id"])}`)).toBe(3);
    expect(await count(`thread_id=${other}`)).toBe(1);
    expect(await count("error=RangeError")).toBe(1);
    expect(await count("error=other")).toBe(0);
    expect(await count(`to=${from}`)).toBe(0);
    expect(await count(`cron_id=${crypto.randomUUID()}`)).toBe(0);
  });

  it("GET /runs 400: invalid values", async () => {
    for (const wrong of ["status=open", "limit=0", "from=yesterday", "cursor=x", "thread_id=x"]) {
      expect((await server.send("GET", `/runs?${wrong}`, undefined, ada)).status, wrong).toBe(400);
    }
  });

  it("GET /runs 200: names the cron, or the thread of the agent, that started the run", async () => {
    const [cron_id, background_of] = [crypto.randomUUID(), crypto.randomUUID()];
    await run(await thread(), { assistant_id: "counter", input: {}, metadata: { cron_id } });
    await run(await thread(), { assistant_id: "counter", input: {}, metadata: { background_of } });
    const [agent, cron] = (await get("/runs?limit=2")).rows;
    expect(agent).toMatchObject({ started_by: { kind: "agent", id: background_of }, parent: background_of });
    expect(cron).toMatchObject({ started_by: { kind: "cron", id: cron_id } });
    expect((await get(`/runs?cron_id=${cron_id}`)).rows).toHaveLength(1);
  });

  it("GET /runs/histogram 200: the number of runs by time and status", async () => {
    const from = new Date().toISOString();
    const id = await thread();
    for (let count = 0; count < 2; count += 1) await run(id, { assistant_id: "counter", input: {} });
    await run(id, { assistant_id: "failing", input: {} });
    const { rows } = await get(`/runs/histogram?from=${from}&bucket=day`);
    const counts = z.array(z.object({ at: z.string(), status: z.string(), count: z.number() })).parse(rows);
    const sums = Object.groupBy(counts, ({ status }) => status);
    expect(sums["success"]?.reduce((sum, { count }) => sum + count, 0)).toBe(2);
    expect(sums["error"]?.reduce((sum, { count }) => sum + count, 0)).toBe(1);
    for (const { at } of counts) expect(at).toMatch(/T00:00:00\.000Z$/u);
    expect((await get(`/runs/histogram?from=${from}`, bob)).rows).toEqual([]);
  });

  it("GET /runs/histogram 400: an invalid time span", async () => {
    expect((await server.send("GET", "/runs/histogram?bucket=week", undefined, ada)).status).toBe(400);
  });
});
