import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import BetterSqlite3 from "better-sqlite3";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { type MoveProgress, moveRows } from "@millrace/engine/storage/move/move";
import { layoutsOf, movedTables } from "@millrace/engine/storage/move/tables";
import { PostgresDatabase } from "@millrace/engine/storage/postgres/database/database";
import { checkPostgres } from "@millrace/engine/storage/postgres/database/check-database";
import { moveFromPostgres, moveToPostgres } from "@millrace/engine/storage/postgres/database/move-database";
import { migrate } from "@millrace/engine/storage/postgres/migrations";
import { migrations } from "@millrace/engine/storage/postgres/migrations/index";
import { createPostgresStorage } from "@millrace/engine/storage/postgres/storage";
import { moveFromSqlite, moveToSqlite } from "@millrace/engine/storage/sqlite/database/move-database";
import { createSqliteStorage } from "@millrace/engine/storage/sqlite/storage";
import { programEnvironment } from "../../support/processes/program.ts";
import { projectFolder } from "../../support/source-files.ts";
import { contentOf as historyOf, writeHistory } from "../sqlite/checkpoints/history.ts";
import { startPostgres, withClient } from "../../support/processes/postgres.ts";

const server = await startPostgres();
afterAll(() => server?.stop());

/** Characters that PostgreSQL cannot store in a text, and others that need care. */
const odd = "a\0b \u{1f600} \\u0000 \"quoted\" 'single' {brace},";
const at = "2026-01-01T00:00:00.000Z";

/** Rows of the tables that the history leaves empty; the first session and run have the key 1. */
const rows: Record<string, Record<string, string | number | Buffer | null>> = {
  session_ttls: { session: 1, minutes: 0.5, strategy: "delete", expires_at: at },
  namespaces: { owner: "ada", namespace: "work", session: 1, updated_at: at },
  tool_calls: {
    session: 1,
    tool_call_id: "c1",
    run_id: "r",
    tool: "t",
    effect: "pure",
    state: "started",
    result: "null",
    started_at: at,
  },
  operations: {
    id: 7,
    operation_id: "o",
    session: 1,
    run_id: "r",
    message_id: "m",
    tool_call_id: "c",
    tool: "t",
    status: "done",
    change: JSON.stringify({ path: odd }),
    is_kept: 1,
    created_at: at,
    updated_at: at,
  },
  operation_contents: { operation: 7, hash: "h", bytes: Buffer.from([0, 255, 10, 92]) },
  approvals: {
    session: 1,
    interrupt_id: "i",
    task_id: "t",
    value: JSON.stringify(odd),
    state: "pending",
    decision: "null",
    asked_at: at,
  },
  grants: { grant_id: "g", session: 1, tool: "t", path_pattern: odd, interrupt_id: "i", created_at: at },
  model_texts: { hash: "h", text: JSON.stringify(odd) },
  model_requests: {
    session: 1,
    run_id: "r",
    number: 1,
    node: "n",
    is_silent: 0,
    asked_at: at,
    head: "h",
    tools: "h",
    data: Buffer.from([1, 0, 2]),
    model_call_id: null,
  },
  run_usage: { run: 1, requests: 2, input_tokens: 1e9, output_tokens: 2.5, cached_tokens: 0, cost: 0.1 },
  owner_usage: {
    owner: "ada",
    day: "2026-01-01",
    requests: 3,
    input_tokens: 1e9,
    output_tokens: 2.5,
    cached_tokens: 0,
    cost: 0.1,
  },
  model_usage: {
    owner: "ada",
    day: "2026-01-01",
    model: "openai:gpt-4o",
    requests: 3,
    failed: 1,
    input_tokens: 1e9,
    output_tokens: 2.5,
    cached_tokens: 0,
    cost: 0.1,
    duration_ms: 1.5,
    first_token_ms: 0.5,
    first_tokens: 2,
  },
  crons: {
    cron_id: "c",
    owner: null,
    assistant_id: "agent",
    session: 1,
    schedule: "* * * * *",
    payload: "{}",
    metadata: "{}",
    enabled: 1,
    on_run_completed: "keep",
    next_run_date: at,
    created_at: at,
    updated_at: at,
  },
  webhooks: {
    run_id: "r",
    url: "http://127.0.0.1/",
    host: "127.0.0.1",
    body: JSON.stringify({ odd }),
    attempts: 2,
    due_at: at,
  },
  tasks: { task_id: "t", title: odd, completed: 1, scheduled_dates: '["2026-01-01"]', created_at: at, updated_at: at },
  assistants: { id: 3, assistant_id: "a", owner: "ada", is_system: 0, version: 1, created_at: at, updated_at: at },
  assistant_versions: {
    assistant: 3,
    version: 1,
    graph_id: "agent",
    name: `ÄPFEL ${odd}`,
    description: null,
    config: "{}",
    context: "{}",
    metadata: "{}",
    created_at: at,
  },
  store_items: {
    id: 5,
    owner: "ada",
    namespace: "a.b.",
    key: "k",
    value: JSON.stringify({ odd }),
    indexed: "null",
    ttl: 0.25,
    expires_at: "9999-01-01T00:00:00.000Z",
    created_at: at,
    updated_at: at,
  },
  item_vectors: { item: 5, place: 0, made_by: "test", vector: Buffer.from(Float32Array.of(0.5, -1).buffer) },
  indexed_files: { file: 2, index_name: "i", path: "src/a.ts", stamp: "", hash: "h", bytes: 5_000_000_000, pieces: 1 },
  file_pieces: { file: 2, first_line: 1, last_line: 2, text: odd, vector: Buffer.from([0, 0, 128, 63]) },
  checkpoint_blobs: { thread: 1, data: Buffer.from([9, 0, 9]), crc: crc32(Buffer.from([9, 0, 9])) },
};

describe.skipIf(server === undefined)("a move between SQLite and PostgreSQL", () => {
  let folder: string;
  let path: string;
  let url: string;
  let variables: Record<string, string>;
  beforeEach(async () => {
    variables = {};
    folder = mkdtempSync(join(tmpdir(), "millrace-move-"));
    path = join(folder, "millrace.db");
    url = (await server?.create()) ?? "";
    const storage = createSqliteStorage(path);
    try {
      await writeHistory(storage, 3);
    } finally {
      await storage.close();
    }
    withFile((database) => {
      for (const [table, row] of Object.entries(rows)) {
        const names = Object.keys(row);
        const values = names.map((name) => `@${name}`).join(", ");
        database.prepare(`INSERT INTO ${table} (${names.join(", ")}) VALUES (${values})`).run(row);
      }
    });
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  /** Changes the file from outside, which the server would otherwise detect as damage. */
  function withFile<Result>(work: (database: BetterSqlite3.Database) => Result, file = path): Result {
    const database = new BetterSqlite3(file);
    try {
      return work(database);
    } finally {
      database.close();
      rmSync(`${path}.mark`, { force: true });
    }
  }

  /** All rows of all tables that move. */
  const contentOf = (file = path): object =>
    withFile((database) => {
      const tables = movedTables.map(({ name, dropped }) => {
        const all = database.prepare(`SELECT * FROM ${name}`).all() as Record<string, unknown>[];
        const kept = all.map((row) => Object.entries(row).filter(([column]) => column !== dropped));
        return [name, kept.map((row) => JSON.stringify(row)).toSorted()];
      });
      return Object.fromEntries(tables);
    }, file);

  type Options = Partial<Parameters<typeof moveRows>[3]>;
  const options = (given: Options = {}) => ({
    onProgress: () => undefined,
    onRestart: () => undefined,
    signal: new AbortController().signal,
    ...given,
  });
  const moveTo = (given?: Options): Promise<number> =>
    moveFromSqlite(path, (source) =>
      moveToPostgres(url, (target) =>
        moveRows(source.side, target.side, layoutsOf(source.tables, target.tables), options(given)),
      ),
    );
  const moveBack = (file: string, given?: Options): Promise<number> =>
    moveFromPostgres(url, (source) =>
      moveToSqlite(file, (target) =>
        moveRows(source.side, target.side, layoutsOf(target.tables, source.tables), options(given)),
      ),
    );

  it("copies everything there and back, byte by byte", async () => {
    const content = contentOf();
    for (const [table, found] of Object.entries(content)) expect([table, found]).not.toEqual([table, []]);
    const before = createSqliteStorage(path);
    const history = await historyOf(before);
    await before.close();
    const steps: MoveProgress[] = [];
    const count = await moveTo({ onProgress: (progress) => void steps.push(progress) });
    expect(count).toBe(Object.values(content).flat().length);
    expect(steps.at(-1)).toMatchObject({ step: "compared", rows: steps.at(-1)?.total });
    const moved = await createPostgresStorage(url);
    try {
      expect(await historyOf(moved)).toEqual(history);
      expect((await moved.tasks.find({})).map(({ title }) => title)).toEqual([odd]);
      expect(await moved.items.get("ada", ["a", "b"], "k", false)).toMatchObject({ value: { odd } });
      expect((await moved.assistants.search({ limit: 9, offset: 0, name: "äpfel" }, [])).total).toBe(1);
    } finally {
      await moved.close();
    }
    const back = join(folder, "back.db");
    expect(await moveBack(back)).toBe(count);
    expect(contentOf(back)).toEqual(content);
    expect(existsSync(`${back}.moving`)).toBe(false);
    // A server uses it.
    const storage = createSqliteStorage(back);
    try {
      expect(await storage.runs.unfinished()).toEqual([]);
    } finally {
      await storage.close();
    }
  });

  it("gives new rows keys after those of the copied rows", async () => {
    await moveTo();
    await withClient(url, async (client) => {
      const added = `INSERT INTO store_items (owner, namespace, key, value, indexed, created_at, updated_at)
        VALUES ('o', 'n.', 'k', '{}', 'null', '', '') RETURNING id::int`;
      expect((await client.query(added)).rows).toEqual([{ id: 6 }]);
      const keys = await client.query(
        "SELECT nextval('checkpoint_keys')::int AS next, (SELECT max(key)::int FROM checkpoint_rows) AS last",
      );
      expect(keys.rows[0].next).toBeGreaterThan(keys.rows[0].last);
    });
  });

  it("resumes after it was interrupted, and no server opens the database before", async () => {
    const aborting = new AbortController();
    const onProgress = ({ table }: MoveProgress) => {
      if (table === "tasks") aborting.abort(new Error("stopped"));
    };
    await expect(moveTo({ onProgress, signal: aborting.signal })).rejects.toThrow("stopped");
    const early = new PostgresDatabase(url);
    await expect(migrate(early, migrations)).rejects.toMatchObject({
      code: "conflict",
      suggestion: expect.stringContaining("millrace move"),
    });
    await early.close();
    await withClient(url, async (client) => {
      await client.query("CREATE TABLE seen AS SELECT xmin::text AS at FROM sessions");
      await moveTo();
      // Rows that were already copied are not written again.
      expect((await client.query("SELECT FROM sessions WHERE xmin::text NOT IN (SELECT at FROM seen)")).rowCount).toBe(
        0,
      );
      await client.query("DROP TABLE seen");
    });
    const back = join(folder, "back.db");
    const cut = new AbortController();
    const stop = ({ table }: MoveProgress) => {
      if (table === "tasks") cut.abort(new Error("stopped"));
    };
    await expect(moveBack(back, { onProgress: stop, signal: cut.signal })).rejects.toThrow("stopped");
    expect(existsSync(back)).toBe(false);
    await moveBack(back);
    expect(contentOf(back)).toEqual(contentOf());
  });

  it.each(["a row that was changed", "a row more", "a row less"])(
    "starts over when the rows of an interrupted move have %s",
    async (what) => {
      const aborting = new AbortController();
      const onProgress = ({ table }: MoveProgress) => {
        if (table === "tasks") aborting.abort(new Error("stopped"));
      };
      await expect(moveTo({ onProgress, signal: aborting.signal })).rejects.toThrow("stopped");
      withFile((database) => {
        if (what === "a row more") database.exec("DELETE FROM grants");
        if (what === "a row less")
          database.exec(
            "INSERT INTO sessions SELECT 0, 'new', created_at, updated_at, status, metadata, config, interrupts, owner FROM sessions LIMIT 1",
          );
        if (what === "a row that was changed") database.exec("UPDATE runs SET kwargs = '{\"other\": 1}' WHERE id = 2");
      });
      let anew = 0;
      await moveTo({ onRestart: () => void (anew += 1) });
      expect(anew).toBe(1);
      const back = join(folder, "back.db");
      await moveBack(back);
      expect(contentOf(back)).toEqual(contentOf());
    },
  );

  it("starts over when the partial file cannot be read", async () => {
    await moveTo();
    const back = join(folder, "back.db");
    writeFileSync(`${back}.moving`, createHash("sha512").update("x").digest().toString("hex").repeat(200));
    await moveBack(back);
    expect(contentOf(back)).toEqual(contentOf());
  });

  it("detects a change that another process makes meanwhile", async () => {
    let isChanged = false;
    const onProgress = ({ step }: MoveProgress) => {
      if (step !== "compared" || isChanged) return;
      isChanged = true;
      const env = { ...process.env, URL: url, SQL: "UPDATE store_items SET value = '{}'" };
      expect(spawnSync(process.execPath, ["-e", changeScript], { env, cwd: projectFolder }).status).toBe(0);
    };
    await expect(moveTo({ onProgress })).rejects.toMatchObject({
      code: "storage_corrupt",
      message: expect.stringContaining("table store_items, at the row 5"),
    });
  });

  it("refuses a wrong checksum, a row that PostgreSQL cannot store, and an unknown table", async () => {
    withFile((database) => database.exec("CREATE TABLE checkpoints (a); INSERT INTO checkpoints VALUES (1)"));
    await expect(moveTo()).rejects.toMatchObject({ code: "conflict", message: expect.stringContaining("checkpoints") });
    withFile((database) => database.exec("DROP TABLE checkpoints; UPDATE store_items SET key = 'a' || char(0)"));
    await expect(moveTo()).rejects.toMatchObject({
      code: "invalid_parameter",
      message: expect.stringContaining("row 5 of store_items"),
    });
    withFile((database) => database.exec("UPDATE store_items SET key = 'k'; UPDATE checkpoint_blobs SET crc = 1"));
    await expect(moveTo()).rejects.toMatchObject({
      code: "storage_corrupt",
      message: expect.stringContaining("checkpoint_blobs"),
    });
  });

  it("needs an empty target, and no running server", async () => {
    const open = createSqliteStorage(path);
    await expect(moveTo()).rejects.toMatchObject({ code: "conflict" });
    await open.close();
    const other = new PostgresDatabase(url);
    await migrate(other, migrations);
    await expect(moveTo()).rejects.toMatchObject({ code: "conflict", suggestion: expect.stringContaining("Stop") });
    await other.change(
      "INSERT INTO tasks (task_id, title, completed, scheduled_dates, created_at, updated_at) VALUES ('t', '\"\"', 0, '[]', '', '')",
    );
    await other.close();
    await expect(moveTo()).rejects.toMatchObject({ code: "conflict", message: expect.stringContaining("not empty") });
    await expect(moveBack(path)).rejects.toMatchObject({
      code: "conflict",
      suggestion: expect.stringContaining("Rename"),
    });
    rmSync(path);
    await expect(moveTo()).rejects.toMatchObject({ code: "not_found" });
    await withClient(url, async (client) => {
      await client.query("BEGIN; LOCK TABLE sessions IN ROW EXCLUSIVE MODE");
      await expect(moveBack(path)).rejects.toMatchObject({ code: "conflict" });
    });
  });

  function command(...parameters: string[]) {
    const env = { ...programEnvironment, ...variables, MILLRACE_DATA_DIR: folder };
    const program = join(projectFolder, "bin/millrace.cjs");
    const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...parameters], {
      cwd: folder,
      encoding: "utf8",
      env,
    });
    return { status, stdout, stderr };
  }

  it("leaves a database that `verify` checks row by row", async () => {
    await expect(checkPostgres(url)).rejects.toMatchObject({ code: "not_found" });
    await moveTo();
    expect(await checkPostgres(url)).toMatchObject({ sessions: 2, runs: 6, problems: [] });
    await withClient(url, async (client) => {
      await client.query("UPDATE checkpoint_items SET text = '[]', bytes = NULL WHERE first = 1");
      expect((await checkPostgres(url)).problems).toEqual(["2 row(s) of checkpoint_items are not what was written"]);
      const verified = command("verify", "--database", url);
      expect(verified).toMatchObject({ status: 1, stderr: expect.stringContaining("2 row(s) of checkpoint_items") });
      expect(command("verify")).toMatchObject({ status: 0, stdout: expect.stringContaining("millrace.db is sound") });
      variables["MILLRACE_DATABASE"] = url;
      expect(command("verify")).toMatchObject({ status: 1, stderr: expect.stringContaining("2 row(s)") });
      expect(command("backup", "b.db")).toMatchObject({ status: 1, stderr: expect.stringContaining("pg_dump") });
      await client.query("CREATE TABLE unfinished_move ()");
    });
    await expect(checkPostgres(url)).rejects.toMatchObject({ code: "conflict" });
  });

  it("is a command that shows its progress", () => {
    const content = contentOf();
    const run = (...parameters: string[]) => command("move", ...parameters);
    expect(run()).toMatchObject({ status: 1, stderr: expect.stringContaining("--to") });
    expect(run("--to", "mysql://x")).toMatchObject({ status: 64, stderr: expect.stringContaining("postgres://") });
    const moved = run("--to", url);
    expect(moved).toMatchObject({ status: 0, stdout: expect.stringContaining("MILLRACE_DATABASE") });
    expect(moved.stderr).toContain("copied sessions: 2 of 2 rows (100 %)");
    expect(run("--from", url)).toMatchObject({ status: 1, stderr: expect.stringContaining("Rename") });
    const before = readFileSync(path);
    rmSync(path);
    expect(run("--from", url)).toMatchObject({ status: 0 });
    expect(before.length).toBeGreaterThan(0);
    expect(contentOf()).toEqual(content);
  });
});

/** Changes a database from another process; the caller does not wait. */
const changeScript = `
  const pg = require("pg");
  const client = new pg.Client({ connectionString: process.env.URL });
  client.connect().then(() => client.query(process.env.SQL)).then(() => client.end());
`;
