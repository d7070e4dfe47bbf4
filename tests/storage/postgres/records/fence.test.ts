import { setImmediate as nextTurn } from "node:timers/promises";
import { emptyCheckpoint } from "@langchain/langgraph-checkpoint";
import type pg from "pg";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import type { RunWriter } from "@millrace/engine/storage/attempt-store";
import { PostgresSaver } from "@millrace/engine/storage/postgres/checkpoints/checkpointer";
import { noNotifications } from "@millrace/engine/storage/cluster";
import { AttemptStream } from "@millrace/engine/storage/postgres/checkpoints/stream";
import { Threads } from "@millrace/engine/storage/postgres/checkpoints/threads";
import { PostgresDatabase } from "@millrace/engine/storage/postgres/database/database";
import { PeerNotifier } from "@millrace/engine/storage/postgres/notifications/peer-notifier";
import { migrate } from "@millrace/engine/storage/postgres/migrations";
import { migrations } from "@millrace/engine/storage/postgres/migrations/index";
import { createAttemptRecords } from "@millrace/engine/storage/postgres/run-records/attempt";
import { createLedger } from "@millrace/engine/storage/postgres/run-records/ledger";
import { createRunStore } from "@millrace/engine/storage/postgres/run-records/runs";
import { ServerLease } from "@millrace/engine/storage/postgres/servers/lease";
import { createSessionStore } from "@millrace/engine/storage/postgres/records/sessions";
import { runRecord, sessionRecord } from "../../../contract/records.ts";
import { startPostgres, withClient } from "../../../support/processes/postgres.ts";

const server = await startPostgres();
afterAll(() => server?.stop());

/** How the next attempt reads the run. Without a lock it misses what the former attempt writes meanwhile. */
const locked = "SELECT FROM runs FOR UPDATE";
const unlocked = "SELECT FROM runs";

describe.skipIf(server === undefined)("the fence of an attempt", () => {
  let url: string;
  let database: PostgresDatabase;
  let lease: ServerLease;
  let peers: PeerNotifier;
  const of = { session_id: "s1", run_id: "r1", attempt: 1 };
  const call = { session_id: "s1", run_id: "r1", tool: "t", effect: "unsafe" } as const;

  beforeEach(async () => {
    url = (await server?.create()) ?? "";
    database = new PostgresDatabase(url);
    await migrate(database, migrations);
    lease = await ServerLease.join(url);
    peers = new PeerNotifier(noNotifications, lease);
    await createSessionStore(database, { lease, peers, ttlListeners: [] }).create(sessionRecord("s1"));
    const parts = {
      server: () => lease.id,
      peers,
      workspaceOf: () => null,
      withdraw: async () => undefined,
      onFirst: () => undefined,
    };
    await createRunStore(database, parts).admit(runRecord("r1", "s1"), { hasRoom: true });
  });
  afterEach(async () => {
    await lease.leave();
    await database.close();
  });

  it("lets only the current attempt write", async () => {
    const ledger = createLedger(database, of);
    expect(await ledger.start({ ...call, tool_call_id: "c1" })).toEqual({ kind: "start" });
    expect(await database.rows("SELECT attempt FROM tool_calls")).toEqual([{ attempt: 1 }]);
    await database.change("UPDATE runs SET attempt = 2");
    await expect(ledger.finish("s1", "c1", "done")).rejects.toMatchObject({ code: "conflict" });
    await expect(ledger.start({ ...call, tool_call_id: "c2" })).rejects.toMatchObject({ code: "conflict" });
    expect(await ledger.get("s1", "c1")).toMatchObject({ state: "started" });
    await database.change("DELETE FROM runs");
    await expect(ledger.finish("s1", "c1", "done")).rejects.toMatchObject({ code: "not_found" });
  });

  /** Whether another client waits for a lock that `client` holds. */
  async function isWaitedFor(client: pg.Client): Promise<boolean> {
    const sql = "SELECT FROM pg_stat_activity WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))";
    return (await client.query(sql)).rowCount !== 0;
  }

  /**
   * Attempts write, one write after the other, while others reclaim the run: each reclaim counts the rows, waits until
   * one more write is made or blocked, and starts the next attempt. `countUpTo` counts the rows up to the attempt `$1`.
   * Returns the number of writes, and the number of writes that a reclaim should have counted and has not.
   */
  async function race(
    take: string,
    { writers, countUpTo }: { writers: ((attempt: number, number: number) => Promise<unknown>)[]; countUpTo: string },
  ): Promise<{ written: number; missed: number }> {
    let attempt = 1;
    let written = 0;
    let isOver = false;
    const writing = writers.map(async (write) => {
      for (let number = 0; !isOver; number += 1) {
        const isWritten = await write(attempt, number).then(
          () => true,
          () => false,
        );
        if (isWritten) written += 1;
        await nextTurn();
      }
    });
    const seen = await withClient(url, async (client) => {
      const counted: number[] = [];
      const count = async (upTo: number): Promise<number> =>
        Number((await client.query<{ count: string }>(countUpTo, [upTo])).rows[0]?.count);
      for (let taker = 0; taker < 40; taker += 1) {
        const until = written + 2;
        await client.query("BEGIN");
        await client.query(take);
        counted.push(await count(attempt));
        while (written < until && !(await isWaitedFor(client))) await nextTurn();
        await client.query("UPDATE runs SET attempt = attempt + 1, writes = 0");
        await client.query("COMMIT");
        attempt += 1;
      }
      isOver = true;
      await Promise.all(writing);
      const missed: number[] = [];
      for (const [index, number] of counted.entries()) missed.push((await count(index + 1)) - number);
      return missed;
    });
    return { written, missed: seen.reduce((sum, number) => sum + number, 0) };
  }

  describe("loses no race for", () => {
    const calls = () => ({
      writers: ["a", "b", "c"].map((name) => (attempt: number, number: number) => {
        const ledger = createLedger(database, { ...of, attempt });
        return ledger.start({ ...call, tool_call_id: `${name} ${attempt} ${number}` });
      }),
      countUpTo: "SELECT count(*) FROM tool_calls WHERE attempt <= $1",
    });

    /** One writer: the attempts of a process share one queue and what the process knows of the session. */
    const checkpoints = () => {
      const threads = new Threads(database);
      const savers = new Map<number, PostgresSaver>();
      const saverOf = (attempt: number): PostgresSaver => {
        const known = savers.get(attempt);
        if (known !== undefined) return known;
        const stream = new AttemptStream(database, threads, { ...of, attempt });
        const saver = new PostgresSaver(threads, { stream, events: { flushWith: (write) => write([], []) } });
        savers.set(attempt, saver);
        return saver;
      };
      const write = async (attempt: number, number: number): Promise<void> => {
        const place = { configurable: { thread_id: "s1", checkpoint_ns: "", run_id: "r1" } };
        const id = `${String(attempt).padStart(8, "0")}-0000-6000-8000-${String(number).padStart(12, "0")}`;
        const checkpoint = { ...emptyCheckpoint(), id, channel_values: { number }, channel_versions: { number } };
        await saverOf(attempt).put(place, checkpoint, { source: "loop", step: number, parents: {} }, { number });
      };
      return {
        writers: [write],
        countUpTo: "SELECT count(*) FROM checkpoint_rows WHERE left(id, 8)::int <= $1",
      };
    };

    it.each([
      ["calls of tools", calls],
      ["checkpoints", checkpoints],
    ])("%s against a reclaim with a lock, and does lose it without", async (_name, made) => {
      const fenced = await race(locked, made());
      expect(fenced.written).toBeGreaterThan(0);
      expect(fenced.missed).toBe(0);
      await database.change("TRUNCATE tool_calls, checkpoint_threads CASCADE");
      await database.change("UPDATE runs SET attempt = 1, writes = 0");
      // The control: a next attempt that reads before it has locked the row finds less than was written.
      expect((await race(unlocked, made())).missed).toBeGreaterThan(0);
    });

    /** Rounds in which a run is ended and reclaimed at the same time; counts the successful ends. */
    async function endings(take: string): Promise<{ both: number; neither: number; ended: number }> {
      const counts = { both: 0, neither: 0, ended: 0 };
      const outcome = { status: "success", session_status: "idle", interrupts: {} } as const;
      const threads = new Threads(database);
      await withClient(url, async (client) => {
        for (let round = 1; round <= 40; round += 1) {
          await database.change("UPDATE runs SET status = 'running', attempt = $1", [round]);
          const writer: RunWriter = { ...of, attempt: round };
          const stream = new AttemptStream(database, threads, writer);
          const finish = (): Promise<unknown> =>
            createAttemptRecords(database, { of: writer, stream, peers, trusted: async () => undefined }).finish(
              outcome,
            );
          // In every second round the end is sent first.
          const early = round % 2 === 0 ? finish() : undefined;
          await client.query("BEGIN");
          await client.query(take);
          const found = await client.query<{ status: string }>("SELECT status FROM runs");
          const isTaken = found.rows[0]?.status === "running";
          let isSettled = false;
          const ending = (early ?? finish()).finally(() => {
            isSettled = true;
          });
          while (!isSettled && !(await isWaitedFor(client))) await nextTurn();
          if (isTaken) await client.query("UPDATE runs SET attempt = attempt + 1");
          await client.query("COMMIT");
          const isEnded = (await ending) !== undefined;
          if (isEnded) counts.ended += 1;
          if (isEnded && isTaken) counts.both += 1;
          if (!isEnded && !isTaken) counts.neither += 1;
        }
      });
      return counts;
    }

    it("the end of a run against a reclaim with a lock, and does lose it without", async () => {
      expect(await endings(locked)).toMatchObject({ both: 0, neither: 0 });
      // The control: a reclaim that reads before it has locked the row takes a run that has ended.
      expect((await endings(unlocked)).both).toBeGreaterThan(0);
    });
  });
});
