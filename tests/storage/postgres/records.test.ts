import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { PostgresDatabase } from "@millrace/engine/storage/postgres/database/database";
import { migrate } from "@millrace/engine/storage/postgres/migrations";
import { migrations } from "@millrace/engine/storage/postgres/migrations/index";
import { createLedger } from "@millrace/engine/storage/postgres/run-records/ledger";
import { createNamespaceStore } from "@millrace/engine/storage/postgres/records/namespaces";
import { createTaskStore } from "@millrace/engine/storage/postgres/records/tasks";
import { describeLedger } from "../../contract/runs/ledger.ts";
import { describeTasks } from "../../contract/tasks.ts";
import { startPostgres, withClient } from "../../support/processes/postgres.ts";

const server = await startPostgres();
afterAll(() => server?.stop());

describe.skipIf(server === undefined)("PostgreSQL", () => {
  let url: string;
  let database: PostgresDatabase;
  beforeEach(async () => {
    url = (await server?.create()) ?? "";
    database = new PostgresDatabase(url);
    await migrate(database, migrations);
  });
  afterEach(() => database.close());

  const addSession = (id: string) =>
    database.change(
      `INSERT INTO sessions (session_id, status, metadata, config, interrupts, created_at, updated_at)
       VALUES ($1, 'idle', '{}', '{}', '{}', $2, $2)`,
      [id, new Date().toISOString()],
    );

  describeTasks("tasks", () => createTaskStore(database));

  describeLedger("ledger", async (sessionIds) => {
    for (const id of sessionIds) await addSession(id);
    return createLedger(database);
  });

  it("keeps every character of a title, also those that PostgreSQL has no text for", async () => {
    const tasks = createTaskStore(database);
    const title = "a\0b \ud800 \u{1f600} \\u0000";
    const at = new Date().toISOString();
    const empty = { owner: null, completed: false, area_id: null, scheduled_dates: [], created_at: at, updated_at: at };
    await tasks.create({ ...empty, task_id: "t1", title });
    expect((await tasks.get("t1"))?.title).toBe(title);
    const refused = tasks.create({ ...empty, task_id: "t\0", title });
    await expect(refused).rejects.toMatchObject({ code: "invalid_parameter" });
  });

  it("has one current session for each namespace, by owner, and none when it is removed", async () => {
    for (const id of ["s1", "s2"]) await addSession(id);
    const namespaces = createNamespaceStore(database);
    expect(await namespaces.get("ada", "work")).toBeUndefined();
    for (const id of ["s1", "s2"]) expect(await namespaces.set("ada", "work", id)).toBe(true);
    expect(await namespaces.set("ada", "Home", "s1")).toBe(true);
    expect(await namespaces.set("bob", "work", "s1")).toBe(true);
    expect(await namespaces.set("bob", "work", "unknown")).toBe(false);
    expect(await namespaces.get("bob", "work")).toMatchObject({ namespace: "work", session_id: "s1" });
    const list = (await namespaces.list("ada")).map(({ namespace, session_id }) => [namespace, session_id]);
    expect(list).toEqual([
      ["Home", "s1"],
      ["work", "s2"],
    ]);
    await database.change("DELETE FROM sessions WHERE session_id = 's2'");
    expect(await namespaces.get("ada", "work")).toBeUndefined();
  });

  describe("the fence of an attempt", () => {
    const of = { session_id: "s1", run_id: "r1", attempt: 1 };
    const call = { session_id: "s1", run_id: "r1", tool: "t", effect: "unsafe" } as const;
    beforeEach(async () => {
      await addSession("s1");
      await database.change(
        `INSERT INTO runs (run_id, session, assistant_id, graph_id, status, kwargs, metadata, multitask_strategy, is_temporary,
           attempt, error, created_at, updated_at)
         SELECT 'r1', id, 'a', 'a', 'running', '{}', '{}', 'enqueue', false, 1, 'null', '', '' FROM sessions`,
      );
    });

    it("lets only the attempt at work write", async () => {
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

    /** Starts calls while others take the run up; gives how many were written for an attempt that was over. */
    async function race(takers: number, take: string): Promise<{ written: number; stale: number }> {
      let attempt = 1;
      let isOver = false;
      const write = async (name: string): Promise<void> => {
        for (let number = 0; !isOver; number += 1) {
          const ledger = createLedger(database, { ...of, attempt });
          await ledger.start({ ...call, tool_call_id: `${name} ${number}` }).catch(() => undefined);
        }
      };
      const writing = ["a", "b", "c"].map(write);
      await withClient(url, async (client) => {
        for (let taker = 0; taker < takers; taker += 1) {
          await client.query("BEGIN");
          await client.query(take);
          // What the next attempt finds is all that the former one has written.
          const seen = await client.query("SELECT count(*)::int AS count FROM tool_calls");
          await client.query("UPDATE runs SET attempt = attempt + 1");
          await client.query("INSERT INTO marks VALUES ($1, $2)", [attempt, seen.rows[0].count]);
          await client.query("COMMIT");
          attempt += 1;
        }
      });
      isOver = true;
      await Promise.all(writing);
      const [row] = await database.rows(
        `SELECT (SELECT count(*)::int FROM tool_calls) AS written, coalesce(sum(greatest(0, found - seen)), 0)::int AS stale
         FROM (SELECT marks.count AS seen, (SELECT count(*) FROM tool_calls WHERE tool_calls.attempt <= marks.attempt) AS found
               FROM marks) AS told`,
      );
      return row as { written: number; stale: number };
    }

    it("loses no race against whoever takes the run up with a lock, and is seen to lose it without", async () => {
      await database.change("CREATE TABLE marks (attempt int, count int)");
      const fenced = await race(150, "SELECT FROM runs FOR UPDATE");
      expect(fenced.stale).toBe(0);
      expect(fenced.written).toBeGreaterThan(0);
      await database.change("TRUNCATE marks, tool_calls");
      await database.change("UPDATE runs SET attempt = 1");
      // The control: a taker that reads before it has the row finds less than was written.
      expect((await race(150, "SELECT")).stale).toBeGreaterThan(0);
    });
  });
});
