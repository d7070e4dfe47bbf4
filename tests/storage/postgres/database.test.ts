import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import pg from "pg";
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { placeOf, PostgresDatabase } from "@millrace/engine/storage/postgres/database/database";
import { Listener } from "@millrace/engine/storage/postgres/database/listener";
import { migrate } from "@millrace/engine/storage/postgres/migrations";
import { migrations } from "@millrace/engine/storage/postgres/migrations/index";
import { startPostgres, withClient } from "../../support/processes/postgres.ts";

const server = await startPostgres();
afterAll(() => server?.stop());

describe("a database URL", () => {
  it.each(["", "millrace", "http://host/name", "postgres://host", "postgres://host/"])("is refused as %o", (url) => {
    expect(() => placeOf(url)).toThrow(/MILLRACE_DATABASE is not the address/);
  });

  it("is shown without user and password", () => {
    expect(placeOf("postgres://ada:secret@db.example:5433/millrace")).toBe("db.example:5433/millrace");
  });

  it("at which no server answers gives an error that says what to check", async () => {
    const database = new PostgresDatabase("postgres://ada:secret@127.0.0.1:1/name");
    const asked = database.rows("SELECT 1");
    await expect(asked).rejects.toMatchObject({
      code: "storage_unavailable",
      recoverable: true,
      message: expect.stringContaining("127.0.0.1:1/name"),
      suggestion: expect.stringContaining("MILLRACE_DATABASE"),
    });
    await expect(asked).rejects.not.toMatchObject({ message: expect.stringContaining("secret") });
    await database.close();
  });
});

const last = migrations.length;

describe.skipIf(server === undefined)("a database in PostgreSQL", () => {
  let url: string;
  let database: PostgresDatabase;
  beforeEach(async () => {
    url = (await server?.create()) ?? "";
    database = new PostgresDatabase(url);
  });
  afterEach(() => database.close());

  it("is migrated once, however many servers start, and keeps its schema", async () => {
    const others = [new PostgresDatabase(url), new PostgresDatabase(url)];
    await Promise.all([database, ...others].map((one) => migrate(one, migrations)));
    await migrate(database, migrations);
    expect(await database.rows("SELECT current, min_compatible FROM schema_version")).toEqual([
      // Migrations since 9 only add: servers of that schema go on beside this one.
      { current: last, min_compatible: 9 },
    ]);
    for (const other of others) await other.close();
  });

  it("is left unchanged when a later version has migrated it in a way that this version does not know", async () => {
    await migrate(database, migrations);
    await database.change("UPDATE schema_version SET current = 99, min_compatible = 1");
    await migrate(database, migrations);
    await database.change("UPDATE schema_version SET min_compatible = 99");
    await expect(migrate(database, migrations)).rejects.toMatchObject({
      code: "storage_newer",
      suggestion: expect.stringContaining("MILLRACE_DATABASE"),
    });
  });

  it("finds the unfinished runs that began before it had a table of them", async () => {
    await migrate(database, migrations.slice(0, 4));
    await database.change(`INSERT INTO sessions (session_id, status, metadata, config, interrupts, created_at, updated_at)
      VALUES ('s1', 'busy', '{}', '{}', '{}', '2026', '2026')`);
    await database.change(`INSERT INTO runs (run_id, session, assistant_id, graph_id, status, kwargs, metadata,
        multitask_strategy, is_temporary, error, created_at, updated_at)
      SELECT 'r-' || status, 1, 'a', 'g', status, '{}', '{}', 'enqueue', false, 'null', '2026', '2026'
      FROM unnest(ARRAY['success', 'pending', 'running']) AS status`);
    await migrate(database, migrations);
    const open = "SELECT run_id, open_runs.status FROM open_runs JOIN runs ON runs.id = run ORDER BY run_id";
    expect(await database.rows(open)).toEqual([
      { run_id: "r-pending", status: "pending" },
      { run_id: "r-running", status: "running" },
    ]);
    const second = database.change("UPDATE runs SET status = 'running' WHERE run_id = 'r-pending'");
    await expect(second).rejects.toThrow("open_runs_one_running");
    await database.change("UPDATE runs SET status = 'success' WHERE run_id = 'r-running'");
    await database.change("DELETE FROM runs WHERE run_id = 'r-pending'");
    expect(await database.rows(open)).toEqual([]);
  });

  it("applies a change completely or not at all", async () => {
    await migrate(database, migrations);
    const broken = [...migrations, { id: last + 1, sql: "CREATE TABLE half (id int); SELECT nothing" }];
    await expect(migrate(database, broken)).rejects.toMatchObject({ code: "storage_io" });
    expect(await database.rows("SELECT to_regclass('half') AS half")).toEqual([{ half: null }]);
    expect(await database.rows("SELECT current FROM schema_version")).toEqual([{ current: last }]);
  });

  it("that does not exist, or refuses access, gives an error that says so", async () => {
    const missing = new PostgresDatabase(url.replace(/millrace_\d+_\d+/, "nowhere"));
    await expect(missing.rows("SELECT 1")).rejects.toMatchObject({ code: "config" });
    await missing.close();
    const name = `guest_${process.pid}`;
    await database.change(`CREATE ROLE ${name} LOGIN`);
    const guest = new PostgresDatabase(url.replace("postgres@", `${name}@`));
    await expect(migrate(guest, migrations)).rejects.toMatchObject({
      code: "storage_readonly",
      suggestion: expect.stringContaining("Grant"),
    });
    await guest.close();
    await database.change(`DROP ROLE ${name}`);
  });

  it("reconnects after its connections were cut, and after a statement timed out", async () => {
    await database.rows("SELECT 1");
    await withClient(url, async (client) => {
      await client.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'millrace'");
    });
    await expect.poll(() => database.rows("SELECT 1 AS one").catch(() => undefined)).toEqual([{ one: 1 }]);
    const hasty = new PostgresDatabase(url, { patience: 1_000 });
    await expect(hasty.rows("SELECT pg_sleep(60)")).rejects.toMatchObject({ code: "storage_unavailable" });
    expect(await hasty.rows("SELECT 1 AS one")).toEqual([{ one: 1 }]);
    await hasty.close();
  });

  it("fills its pool step by step after all of its connections have broken", async () => {
    const found = "FROM pg_stat_activity WHERE application_name = 'millrace' AND datname = current_database()";
    const ask = async (sql: string) => (await withClient(url, (client) => client.query(sql))).rows;
    const hold = Promise.withResolvers<void>();
    let open = 0;
    const work = (): Promise<void> =>
      database.transaction(async () => {
        open += 1;
        await hold.promise;
      });
    await Promise.all(Array.from({ length: 8 }, () => database.rows("SELECT pg_sleep(0.01)")));
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      await ask(`SELECT pg_terminate_backend(pid) ${found}`);
      await expect.poll(() => vi.getTimerCount()).toBe(1);
      // While there is no connection, no timer runs.
      const timersAfterASecond = (): number => vi.advanceTimersByTime(1_000).getTimerCount();
      await expect.poll(timersAfterASecond).toBe(0);
      await expect.poll(() => database.rows("SELECT 1 AS one").catch(() => undefined)).toEqual([{ one: 1 }]);
      const working = Array.from({ length: 8 }, work);
      for (const expected of [2, 4, 8]) {
        await expect.poll(() => open).toBe(expected);
        expect(await ask(`SELECT count(*)::int ${found}`)).toEqual([{ count: expected }]);
        vi.advanceTimersByTime(1_000);
      }
      hold.resolve();
      await Promise.all(working);
    } finally {
      hold.resolve();
      vi.useRealTimers();
    }
  });

  it("ends a transaction whose client is silent, so that its locks are released", async () => {
    const shown = "SELECT current_setting('idle_in_transaction_session_timeout') AS limit";
    for (const waits of [true, false]) {
      const work = database.transaction((statements) => statements.rows(shown), waits);
      expect(await work).toEqual([{ limit: "4s" }]);
    }
    expect(await database.rows(shown)).not.toEqual([{ limit: "4s" }]);
  });

  it("prepares a frequent statement once, and again when a migration has changed its table", async () => {
    await database.change("CREATE TABLE counters (name text PRIMARY KEY, value int)");
    await database.change("INSERT INTO counters VALUES ($1, $2)", ["a", 1]);
    const one = new PostgresDatabase(url, { connections: 1 });
    const read = () => one.rows("SELECT * FROM counters WHERE name = $1", ["a"]);
    const plans = () => one.rows("SELECT statement FROM pg_prepared_statements");
    for (let times = 0; times < 10; times += 1) expect(await read()).toEqual([{ name: "a", value: 1 }]);
    expect(await plans()).toEqual([{ statement: "SELECT * FROM counters WHERE name = $1" }]);
    await database.change("ALTER TABLE counters ADD COLUMN unit text");
    for (let times = 0; times < 10; times += 1) expect(await read()).toEqual([{ name: "a", value: 1, unit: null }]);
    expect(await plans()).toHaveLength(2);
    await one.close();
  });

  it("retries a transaction after a deadlock", async () => {
    await database.change("CREATE TABLE counters (name text PRIMARY KEY, value int)");
    await database.change("INSERT INTO counters VALUES ('a', 0), ('b', 0)");
    const add = (names: string[]) =>
      database.transaction(async (statements) => {
        for (const name of names)
          await statements.change("UPDATE counters SET value = value + 1 WHERE name = $1", [name]);
      });
    // Each of a pair waits for the other: PostgreSQL aborts one of them.
    await Promise.all(Array.from({ length: 4 }, (_, at) => add(at % 2 === 0 ? ["a", "b"] : ["b", "a"])));
    expect(await database.rows("SELECT name, value FROM counters ORDER BY name")).toEqual([
      { name: "a", value: 4 },
      { name: "b", value: 4 },
    ]);
  });
});

it.skipIf(server === undefined)("a process that was busy when the first notification came receives it", async () => {
  const url = (await server?.create()) ?? "";
  const client = new pg.Client(url);
  await client.connect();
  const silent: unknown[] = [];
  const listener = new Listener({
    url,
    channels: () => ["busy"],
    notify: async (channel, payload) => {
      // The notification is sent when its time limit already runs, and arrives while the process reads nothing.
      setImmediate(() => {
        void client.query("SELECT pg_notify($1, $2)", [channel, payload]);
        for (const over = performance.now() + 1_300; performance.now() < over;);
      });
    },
    onNotification: () => undefined,
    onRestored: () => undefined,
    onLost: (reason) => void silent.push(reason),
  });
  try {
    await listener.start();
    expect(silent).toEqual([]);
    expect(listener.isListening).toBe(true);
  } finally {
    await listener.stop();
    await client.end();
  }
});

it("a database that refuses connections gets few attempts, however many statements wait for it", async () => {
  let attempts = 0;
  const refusing = createServer((socket) => {
    attempts += 1;
    socket.destroy();
  });
  refusing.listen(0, "127.0.0.1");
  await once(refusing, "listening");
  const { port } = refusing.address() as AddressInfo; // a listening server has one
  const database = new PostgresDatabase(`postgres://ada@127.0.0.1:${port}/name`);
  const waiting = Array.from({ length: 40 }, () => database.rows("SELECT 1"));
  const results = await Promise.allSettled(waiting);
  expect(results.every(({ status }) => status === "rejected")).toBe(true);
  // One for each statement, and then at most one every 150 ms for two seconds.
  expect(attempts).toBeLessThan(60);
  await database.close();
  refusing.close();
});
