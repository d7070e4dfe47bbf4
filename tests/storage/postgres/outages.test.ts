import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { FaultProxy, type LinkFault } from "@millrace/testing/fault-proxy";
import type pg from "pg";
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { AppError } from "@millrace/engine/errors/errors";
import { withinRun } from "@millrace/engine/storage/attempt-store";
import { AttemptStream } from "@millrace/engine/storage/postgres/checkpoints/stream";
import { Threads } from "@millrace/engine/storage/postgres/checkpoints/threads";
import { PostgresDatabase } from "@millrace/engine/storage/postgres/database/database";
import { createPostgresStorage } from "@millrace/engine/storage/postgres/storage";
import type { RunEvent } from "@millrace/engine/run-events";
import type { Storage } from "@millrace/engine/storage/storage";
import { runRecord, sessionRecord } from "../../contract/records.ts";
import { operation } from "../../contract/runs/operations.ts";
import { webhooksDue } from "../../contract/runs/webhooks.ts";
import { openGate } from "../../support/test-graphs.ts";
import { startTestServer } from "../../support/test-server.ts";
import { startPostgres, withClient } from "../../support/processes/postgres.ts";

const server = await startPostgres();
afterAll(() => server?.stop());

/** A PostgreSQL message that refuses a connection. */
function refusal(code: string): Buffer {
  const fields = Buffer.from(`SFATAL\0C${code}\0Mrefused\0\0`);
  const head = Buffer.alloc(5);
  head.write("E");
  head.writeInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}

describe("a PostgreSQL that refuses", () => {
  it.each([
    ["the password", "28P01", "config", "password in MILLRACE_DATABASE"],
    ["the user", "28000", "config", "user and the password in MILLRACE_DATABASE"],
    ["a missing database", "3D000", "config", "createdb"],
    ["a missing privilege", "42501", "storage_readonly", "Grant"],
    ["too many connections", "53300", "storage_unavailable", "MILLRACE_DATABASE"],
    ["a connection, since it is starting", "57P03", "storage_unavailable", "MILLRACE_DATABASE"],
    ["a connection, since it is shutting down", "57P01", "storage_unavailable", "MILLRACE_DATABASE"],
    ["writes, since it is a replica", "25006", "storage_unavailable", "MILLRACE_DATABASE"],
    ["writes, since its disk is full", "53100", "storage_full", "disk of the PostgreSQL"],
  ])("%s (%s) gives a specific error with a suggestion", async (_name, sqlState, code, remedy) => {
    const refusing = createServer((socket) => socket.once("data", () => socket.end(refusal(sqlState))));
    refusing.listen(0, "127.0.0.1");
    await once(refusing, "listening");
    const { port } = refusing.address() as AddressInfo; // a listening server has one
    const storage = createPostgresStorage(`postgres://ada:secret@127.0.0.1:${port}/name`);
    await expect(storage).rejects.toMatchObject({ code, suggestion: expect.stringContaining(remedy) });
    await expect(storage).rejects.toMatchObject({ message: expect.stringContaining(`127.0.0.1:${port}/name`) });
    await expect(storage).rejects.not.toMatchObject({ message: expect.stringContaining("secret") });
    refusing.close();
    await once(refusing, "close");
  });
});

/** How many statements wait for a lock in the database of `client`. */
async function waitingFor(client: pg.Client): Promise<number> {
  // Within a transaction PostgreSQL shows the same snapshot again.
  await client.query("SELECT pg_stat_clear_snapshot()");
  const { rowCount } = await client.query(
    "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
  );
  return rowCount ?? 0;
}

const readTables = `sessions, runs, approvals, grants, tool_calls, operations, run_events, checkpoint_threads, model_requests,
  owner_usage, store_items, indexed_files, namespaces, tasks, crons, assistants`;
const page = { limit: 10, offset: 0 };

/** What a run reads, each with one statement. */
const reads: [what: string, read: (storage: Storage) => Promise<unknown>][] = [
  ["its session", ({ sessions }) => sessions.get("s1")],
  ["its row", ({ runs }) => runs.get("r1")],
  ["the runs of its session", ({ runs }) => runs.list("s1", page)],
  ["open questions", ({ approvals }) => approvals.pending("s1")],
  ["the grants", ({ approvals }) => approvals.grants("s1")],
  ["a call", ({ ledger }) => ledger.get("s1", "c1")],
  ["the operation of a call", ({ operations }) => operations.ofCall("s1", "c1")],
  ["its events", ({ events }) => events.read("r1", -1, 10)],
  ["a state", ({ checkpointer }) => checkpointer.getTuple({ configurable: { thread_id: "s0" } })],
  ["a request to a model", ({ requests }) => requests.last("s1")],
  ["the usage", ({ usage }) => usage.days("ada", { from: "2026-01-01", to: "2026-12-31" })],
  ["an item", ({ items }) => items.get("ada", ["a"], "k")],
  ["indexed files", ({ textIndex }) => textIndex.files("index")],
  ["the session of a namespace", ({ namespaces }) => namespaces.get("ada", "n")],
  ["tasks", ({ tasks }) => tasks.find({})],
  ["due crons", ({ crons }) => crons.due("2026-01-01T00:00:00.000Z")],
  ["the versions of an assistant", ({ assistants }) => assistants.versions("a1", page)],
];

describe.skipIf(server === undefined)("a connection to PostgreSQL", () => {
  let url: string;
  let proxy: FaultProxy;
  let proxied: string;
  let faults: LinkFault[];
  let isAway = false;

  beforeEach(async () => {
    url = (await server?.create()) ?? "";
    const direct = new URL(url);
    const folder = direct.searchParams.get("host");
    const port = Number(direct.port || 5432);
    faults = [];
    proxy = new FaultProxy(
      () => (folder === null ? port : `${folder}/.s.PGSQL.${port}`),
      () => (isAway ? { kind: "reset", after: 1 } : (faults.shift() ?? { kind: "none" })),
    );
    await proxy.listen();
    direct.searchParams.delete("host");
    direct.host = `127.0.0.1:${proxy.port}`;
    proxied = direct.href;
  });
  afterEach(() => proxy.close());

  it("that stays open without answering fails one statement, and the next one uses a new connection", async () => {
    // Long enough to connect, and too short for an answer.
    faults.push({ kind: "half-open", after: 700 });
    const database = new PostgresDatabase(proxied, { patience: 1_000 });
    const long = database.rows("SELECT repeat('x', 5000) AS text");
    await expect(long).rejects.toMatchObject({ code: "storage_unavailable", recoverable: true });
    expect(await database.rows("SELECT 1 AS one")).toEqual([{ one: 1 }]);
    await database.close();
  });

  it("that stops answering in a transaction rolls it back completely", async () => {
    const database = new PostgresDatabase(proxied, { patience: 1_000 });
    await database.change("CREATE TABLE notes (text text)");
    proxy.cut();
    faults.push({ kind: "half-open", after: 700 });
    const both = database.transaction(async (statements) => {
      await statements.change("INSERT INTO notes VALUES ('a')");
      await statements.rows("SELECT repeat('x', 5000)");
    });
    await expect(both).rejects.toMatchObject({ code: "storage_unavailable" });
    expect(await database.rows("SELECT text FROM notes")).toEqual([]);
    await database.close();
  });

  it("that is given up during a write of a run leaves that write there once", async () => {
    const storage = await createPostgresStorage(proxied);
    await storage.sessions.create(sessionRecord("s1"));
    await storage.runs.admit(runRecord("r1", "s1"), { hasRoom: true });
    const database = new PostgresDatabase(proxied, { patience: 1_000 });
    const stream = new AttemptStream(database, new Threads(database), { session_id: "s1", run_id: "r1", attempt: 1 });
    const event: RunEvent = { id: 0, at: 0, event: "metadata", data: { run_id: "r1", attempt: 1 } };
    await withClient(url, async (client) => {
      await client.query("BEGIN; SELECT FROM runs FOR UPDATE");
      const writing = stream.write({ events: [event], usage: [] });
      // The first attempt, whose answer is never read, and the retry.
      await expect.poll(() => waitingFor(client)).toBeGreaterThan(1);
      await client.query("COMMIT");
      await writing;
    });
    expect(await storage.events.read("r1", -1, 10)).toEqual([event]);
    await database.close();
    await storage.close();
  });

  it("that cannot be made is retried within a run until the run is stopped, and not elsewhere", async () => {
    const storage = await createPostgresStorage(proxied);
    await storage.sessions.create(sessionRecord("s1"));
    const [going, stopped] = [new AbortController(), new AbortController()];
    isAway = true;
    proxy.cut();
    const ask = () => storage.sessions.get("s1");
    const [asked, given] = [withinRun.run(going.signal, ask), withinRun.run(stopped.signal, ask)];
    stopped.abort();
    await Promise.all(
      [ask(), given].map((refused) => expect(refused).rejects.toMatchObject({ code: "storage_unavailable" })),
    );
    isAway = false;
    expect(await asked).toMatchObject({ session_id: "s1" });
    await storage.close();
  });

  it("that cannot be made is answered with 503 and Retry-After, and the server goes on afterwards", async () => {
    const served = await startTestServer({ database: proxied });
    try {
      const { thread_id } = await served.client.threads.create();
      await served.client.runs.wait(thread_id, "counter", { input: { value: 1 } });
      isAway = true;
      proxy.cut();
      const run = { assistant_id: "counter", input: { value: 2 } };
      for (const [method, path, body] of [
        ["GET", `/threads/${thread_id}`, undefined],
        ["POST", "/threads", {}],
        ["POST", `/threads/${thread_id}/runs`, run],
      ] as const) {
        const response = await served.send(method, path, body);
        expect([path, response.status, response.headers.get("retry-after")]).toEqual([path, 503, "1"]);
        expect(await response.text()).toContain("MILLRACE_DATABASE");
      }
      isAway = false;
      expect(await served.client.runs.wait(thread_id, "counter", { input: { value: 3 } })).toMatchObject({ value: 4 });
      expect(await served.client.runs.list(thread_id)).toHaveLength(2);
    } finally {
      isAway = false;
      await served.remove();
    }
  });

  it("to a full disk refuses runs with 507, and the run at work fails and can be continued", async () => {
    const served = await startTestServer({ database: url });
    const query = async (sql: string) => (await withClient(url, (client) => client.query(sql))).rows;
    try {
      const { threads, runs } = served.client;
      const { thread_id } = await threads.create();
      const gate = crypto.randomUUID();
      await runs.create(thread_id, "gated", { input: { gate } });
      await expect.poll(async () => (await threads.getState(thread_id)).next).toEqual(["wait"]);
      await query(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100';
        END $$`);
      for (const table of ["runs", "checkpoint_rows"]) {
        await query(`CREATE TRIGGER is_full BEFORE INSERT ON ${table} FOR EACH ROW EXECUTE FUNCTION refuse()`);
      }
      const body = { assistant_id: "counter", input: { value: 1 }, multitask_strategy: "enqueue" };
      const refused = await served.send("POST", `/threads/${thread_id}/runs`, body);
      expect(refused.status).toBe(507);
      expect(refused.headers.get("retry-after")).toBe("10");
      expect(await refused.text()).toMatch(
        /^PostgreSQL at .*No space left on device\. Free some space on the disk of the PostgreSQL in MILLRACE_DATABASE\.$/u,
      );
      openGate(gate);
      const ended = "SELECT status, error::json ->> 'error' AS error FROM runs WHERE status <> 'running'";
      await expect.poll(() => query(ended)).toEqual([{ status: "error", error: "storage_full" }]);
      for (const table of ["runs", "checkpoint_rows"]) await query(`DROP TRIGGER is_full ON ${table}`);
      expect((await threads.getState(thread_id)).next).toEqual(["wait"]);
      expect(await runs.wait(thread_id, "gated", { input: null })).toMatchObject({ gate, passed: true });
    } finally {
      await served.remove();
    }
  });

  describe("that breaks before the answer", () => {
    let storage: Storage;
    beforeEach(async () => {
      storage = await createPostgresStorage(proxied);
      await storage.sessions.create(sessionRecord("s1"));
    });
    afterEach(() => storage.close());

    /**
     * Cuts all connections while `work` waits for a lock in PostgreSQL, which then executes it without a client; with
     * `isSlow` not before the client has retried.
     */
    async function cutDuring<Result>(lock: string, work: () => Promise<Result>, isSlow = false): Promise<Result> {
      return await withClient(url, async (client) => {
        await client.query("BEGIN");
        await client.query(lock);
        const result = work();
        await expect.poll(() => waitingFor(client)).toBe(1);
        proxy.cut();
        if (isSlow) await expect.poll(() => waitingFor(client)).toBe(2);
        await client.query("COMMIT");
        return await result;
      });
    }
    const session = "SELECT FROM sessions FOR UPDATE";
    const run = "SELECT FROM runs FOR UPDATE";
    const of = { session_id: "s1", run_id: "r1", attempt: 1 };
    const begin = () => storage.runs.admit(runRecord("r1", "s1"), { hasRoom: true });

    it.each(reads)("has a run read %s again", async (_what, read) => {
      await begin();
      const known = await read(storage);
      const going = new AbortController();
      const found = await cutDuring(`LOCK TABLE ${readTables}`, () => withinRun.run(going.signal, read, storage));
      expect(found).toEqual(known);
    });

    it("stores an item of a run's store once", async () => {
      const put = () => storage.items.change("ada", [{ namespace: ["a"], key: "k", value: { one: 1 } }]);
      const going = new AbortController();
      await cutDuring("LOCK TABLE store_items", () => withinRun.run(going.signal, put));
      expect(await storage.items.get("ada", ["a"], "k")).toMatchObject({ value: { one: 1 } });
    });

    it("admits a run once, and lets the caller perform it", async () => {
      const { run: admitted, claimed } = await cutDuring(session, begin);
      expect(admitted).toEqual(runRecord("r1", "s1"));
      expect(claimed).toEqual(await storage.runs.get("r1"));
      expect(await storage.runs.list("s1", { limit: 10, offset: 0 })).toHaveLength(1);
    });

    it.each([false, true])("gives the claimed run to the caller, in its first attempt; slow: %s", async (isSlow) => {
      await storage.runs.admit(runRecord("r1", "s1"));
      const claimed = await cutDuring(session, () => storage.runs.claim("s1"), isSlow);
      expect(claimed).toMatchObject({ run_id: "r1", attempt: 1 });
      expect(await storage.runs.reclaim("r1")).toMatchObject({ attempt: 2, crashes: 1 });
    });

    it.each([false, true])("counts the next attempt once; slow: %s", async (isSlow) => {
      await begin();
      const reclaimed = await cutDuring(run, () => storage.runs.reclaim("r1"), isSlow);
      expect(reclaimed).toMatchObject({ attempt: 2, crashes: 1 });
    });

    /** Has the caller of `beginRun` give up before its answer is there, and again before anything was sent. */
    async function giveUpTwice(beginRun: () => Promise<unknown>): Promise<void> {
      const once = vi.spyOn(PostgresDatabase.prototype, "once");
      const away = new AppError("storage_unavailable", "No answer.");
      once.mockImplementationOnce(async (work) => {
        await work(false);
        throw away;
      });
      once.mockRejectedValueOnce(away);
      try {
        for (const _ of [1, 2]) await expect(beginRun()).rejects.toThrow(away);
      } finally {
        once.mockRestore();
      }
    }

    it("gives a run that was claimed to a caller that has given up meanwhile and asks again later", async () => {
      await storage.runs.admit(runRecord("r1", "s1"));
      await giveUpTwice(() => storage.runs.claim("s1"));
      expect(await storage.runs.claim("s1")).toMatchObject({ run_id: "r1", status: "running", attempt: 1 });
    });

    it("counts the next attempt once, also for a caller that has given up meanwhile and asks again later", async () => {
      await begin();
      await giveUpTwice(() => storage.runs.reclaim("r1"));
      expect(await storage.runs.reclaim("r1")).toMatchObject({ attempt: 2, crashes: 1 });
      expect(await storage.runs.reclaim("r1")).toMatchObject({ attempt: 3, crashes: 2 });
    });

    it("ends the run once, for the caller that wrote the end, with one webhook", async () => {
      await begin();
      const webhook = { url: "/ended", host: "", body: "{}" };
      const outcome = { status: "success", session_status: "idle", interrupts: {}, webhook } as const;
      const ended = await cutDuring(session, () => storage.attempt(of).finish(outcome));
      expect(ended).toMatchObject({ status: "success" });
      expect(await webhooksDue(storage.webhooks, "2999-01-01T00:00:00.000Z")).toHaveLength(1);
      expect(await storage.attempt(of).finish(outcome)).toBeUndefined();
    });

    it("starts a call once", async () => {
      await begin();
      const { ledger } = storage.attempt(of);
      const call = { session_id: "s1", run_id: "r1", tool_call_id: "c1", tool: "t", effect: "unsafe" } as const;
      expect(await cutDuring(run, () => ledger.start(call))).toEqual({ kind: "start" });
      expect(await ledger.start(call)).toMatchObject({ kind: "unknown" });
      await cutDuring(run, () => ledger.finish("s1", "c1", "done"));
      expect(await ledger.start(call)).toEqual({ kind: "finished", result: "done" });
    });

    it("records an operation with its bytes", async () => {
      await begin();
      const begun = operation("o1", { run_id: "r1" });
      const { operations } = storage.attempt(of);
      const contents = new Map([["one", new Uint8Array([0, 255])]]);
      expect(await cutDuring(run, () => operations.begin(begun, contents))).toEqual(begun);
      expect([...((await operations.content("o1", "one")) ?? [])]).toEqual([0, 255]);
    });
  });
});
