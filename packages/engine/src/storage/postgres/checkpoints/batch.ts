import type { Data, ItemRow, NewCheckpoint, WriteRow } from "../../checkpoints/rows.ts";
import type { UsageEntry } from "../../usage.ts";
import { later, type Values } from "../database/database.ts";

type Value = string | number | boolean | null | Uint8Array;

/** A new checkpoint, of which only writes are known while it has no row. */
interface InsertedCheckpoint {
  namespace: number;
  id: string;
  row: NewCheckpoint | undefined;
}

/** A group of events as it is stored. */
interface StoredEvents {
  first: number;
  last: number;
  data: Data;
}

/** Who may write: an attempt of a run, or (without a number) whoever writes for a run of which no attempt does. */
export interface Fence {
  run_id: string;
  session_id: string;
  attempt: number | undefined;
  /** How many writes of the attempt there were before; `undefined` where that is not known. */
  writes: number | undefined;
}

/** A value in two columns: `text`, or `bytes` where it is more than JSON. */
export function columnsOf(data: Data): [text: string | null, bytes: Uint8Array | null] {
  return typeof data === "string" ? [data, null] : [null, data];
}

/** The value again. */
export function dataOf(row: { text: string | null; bytes: Uint8Array | null }): Data {
  return row.text ?? Buffer.from(row.bytes ?? []);
}

/** Everything that one write of a checkpointer changes: one statement, and so one transaction and one round trip. */
export class Batch {
  readonly threads: [key: number, threadId: string][] = [];
  readonly clocks: number[] = [];
  readonly namespaces: [key: number, thread: number, name: string][] = [];
  readonly runs: [key: number, thread: number, runId: string][] = [];
  readonly inserted = new Map<number, InsertedCheckpoint>();
  readonly written = new Map<number, NewCheckpoint>();
  readonly completed: [key: number, data: string, crc: number][] = [];
  readonly blobs: [key: number, thread: number, data: Data, crc: number][] = [];
  readonly writes: [checkpoint: number, run: number | undefined, row: WriteRow][] = [];
  readonly items: { thread: number; row: ItemRow; isNew: boolean }[] = [];
  readonly removedThreads: string[] = [];
  readonly removedCheckpoints: number[] = [];
  readonly removedBlobs: number[] = [];
  readonly removedRuns: number[] = [];
  readonly removedWrites: [checkpoint: number, task: string, part: number][] = [];
  readonly removedWritesOfRun: [checkpoint: number, run: number][] = [];
  events: StoredEvents | undefined;
  usage: readonly UsageEntry[] = [];

  /**
   * The statement, which gives one row: `writes` is null where the fence has refused it and nothing was written. Commits
   * do not wait for the disk.
   */
  toStatement(fence: Fence | undefined): { sql: string; values: Values } {
    const statement = new Statement(fence, this.events?.first);
    statement.insert("checkpoint_threads", ["key bigint", "thread_id text"], this.threads);
    statement.insert("checkpoint_namespaces", ["key bigint", "thread bigint", "ns text"], this.namespaces);
    statement.insert("checkpoint_runs", ["key bigint", "thread bigint", "run_id text"], this.runs);
    statement.insert(
      "checkpoint_rows",
      ["key bigint", "namespace bigint", "id text", ...checkpointColumns],
      Array.from(this.inserted, ([key, { namespace, id, row }]) => [key, namespace, id, ...checkpointValues(row)]),
    );
    statement.insert(
      "checkpoint_blobs",
      ["key bigint", "thread bigint", ...dataColumns],
      this.blobs.map(([key, thread, data, crc]) => [key, thread, ...columnsOf(data), crc]),
    );
    statement.insert(
      "checkpoint_writes",
      ["checkpoint bigint", "task text", "part int", "path text", "run bigint", ...dataColumns],
      this.writes.map(([checkpoint, run, { task, part, path, data, crc }]) => [
        checkpoint,
        task,
        part,
        path,
        run ?? null,
        ...columnsOf(data),
        crc,
      ]),
    );
    const itemColumns = ["thread bigint", "first int", "count int", ...dataColumns];
    const itemValues = ({ thread, row }: { thread: number; row: ItemRow }): Value[] => [
      thread,
      row.first,
      row.count,
      ...columnsOf(row.data),
      row.crc,
    ];
    statement.insert("checkpoint_items", itemColumns, this.items.filter(({ isNew }) => isNew).map(itemValues));
    statement.update("checkpoint_items", 2, itemColumns, this.items.filter(({ isNew }) => !isNew).map(itemValues));
    statement.update(
      "checkpoint_rows",
      1,
      ["key bigint", ...checkpointColumns],
      Array.from(this.written, ([key, row]) => [key, ...checkpointValues(row)]),
    );
    statement.update(
      "checkpoint_rows",
      1,
      ["key bigint", "base bigint", "data text", "crc bigint"],
      this.completed.map(([key, data, crc]) => [key, null, data, crc]),
    );
    statement.update(
      "checkpoint_threads",
      1,
      ["key bigint", "clock_went_back smallint"],
      this.clocks.map((key) => [key, 1]),
    );
    this.#removals(statement);
    if (this.events !== undefined) {
      const { first, last, data } = this.events;
      statement.insert(
        "run_events",
        ["first_id int", "last_id int", "text text", "bytes bytea"],
        [[first, last, ...columnsOf(data)]],
        "run",
      );
    }
    statement.addUsage(this.usage);
    return statement.end();
  }

  #removals(statement: Statement): void {
    statement.remove(
      "checkpoint_threads",
      ["thread_id text"],
      this.removedThreads.map((id) => [id]),
    );
    statement.remove(
      "checkpoint_rows",
      ["key bigint"],
      this.removedCheckpoints.map((key) => [key]),
    );
    statement.remove(
      "checkpoint_blobs",
      ["key bigint"],
      this.removedBlobs.map((key) => [key]),
    );
    statement.remove(
      "checkpoint_runs",
      ["key bigint"],
      this.removedRuns.map((key) => [key]),
    );
    statement.remove("checkpoint_writes", ["checkpoint bigint", "task text", "part int"], this.removedWrites);
    statement.remove("checkpoint_writes", ["checkpoint bigint", "run bigint"], this.removedWritesOfRun);
  }
}

const dataColumns = ["text text", "bytes bytea", "crc bigint"];
const checkpointColumns = ["parent text", "run bigint", "base bigint", "data text", "crc bigint"];

function checkpointValues(row: NewCheckpoint | undefined): Value[] {
  if (row === undefined) return [null, null, null, null, null];
  return [row.parent ?? null, row.run ?? null, row.base ?? null, row.data, row.crc];
}

/** The name of a column that is written as `name type`. */
function nameOf(column: string): string {
  return column.split(" ")[0] ?? "";
}

/** A statement of many parts, each of which changes something where the fence, `f`, has let it. */
class Statement {
  readonly #parts: string[];
  readonly #values: Value[] = [];

  constructor(fence: Fence | undefined, firstEvent: number | undefined) {
    this.#parts = [`f AS (${this.#fence(fence, firstEvent)})`];
  }

  /** `run`: the first column is the key of the run that the fence has found. */
  insert(table: string, columns: readonly string[], rows: readonly (readonly Value[])[], run?: "run"): void {
    const names = [...(run === undefined ? [] : ["run"]), ...columns.map(nameOf)].join(", ");
    const selected = run === undefined ? "v.*" : "f.run, v.*";
    this.#add(columns, rows, (v) => `INSERT INTO ${table} (${names}) SELECT ${selected} FROM f, ${v}`);
  }

  /** Sets all columns behind the first `keys` of them, where those are equal. */
  update(table: string, keys: number, columns: readonly string[], rows: readonly (readonly Value[])[]): void {
    const names = columns.map(nameOf);
    const set = names.slice(keys).map((name) => `${name} = v.${name}`);
    const where = names.slice(0, keys).map((name) => `t.${name} = v.${name}`);
    this.#add(
      columns,
      rows,
      (v) => `UPDATE ${table} AS t SET ${set.join(", ")} FROM f, ${v} WHERE ${where.join(" AND ")}`,
    );
  }

  remove(table: string, columns: readonly string[], rows: readonly (readonly Value[])[]): void {
    const where = columns.map((column) => `t.${nameOf(column)} = v.${nameOf(column)}`);
    this.#add(columns, rows, (v) => `DELETE FROM ${table} AS t USING f, ${v} WHERE ${where.join(" AND ")}`);
  }

  addUsage(usage: readonly UsageEntry[]): void {
    const sums = ["requests", "input_tokens", "output_tokens", "cached_tokens", "cost"] as const;
    const columns = ["owner text", "day text", ...sums.map((name) => `${name} double precision`)];
    const rows = usage.map((entry) => [entry.owner, entry.day, ...sums.map((name) => entry[name])]);
    const added = sums.map((name) => `${name} = owner_usage.${name} + excluded.${name}`).join(", ");
    const summed = sums.map((name) => `sum(v.${name})`).join(", ");
    this.#add(
      columns,
      rows,
      (v) => `INSERT INTO owner_usage (owner, day, ${sums.join(", ")})
        SELECT v.owner, v.day, ${summed} FROM f, ${v} GROUP BY v.owner, v.day
        ON CONFLICT (owner, day) DO UPDATE SET ${added}`,
    );
  }

  end(): { sql: string; values: Values } {
    return {
      sql: `WITH ${this.#parts.join(",\n")} SELECT (SELECT max(writes) FROM f) AS writes`,
      values: this.#values,
    };
  }

  /** Adds a part over rows, unless there are none. */
  #add(columns: readonly string[], rows: readonly (readonly Value[])[], sql: (v: string) => string): void {
    if (rows.length === 0) return;
    const types = columns.map((column) => column.slice(column.indexOf(" ") + 1));
    const lines = rows.map((row) => `(${row.map((value, at) => `${this.#value(value)}::${types[at]}`).join(", ")})`);
    const v = `(VALUES ${lines.join(", ")}) AS v (${columns.map(nameOf).join(", ")})`;
    this.#parts.push(`p${this.#parts.length} AS (${sql(v)})`);
  }

  #value(value: Value): string {
    return `$${this.#values.push(value)}`;
  }

  /** What every other part hangs on: it finds the run as it has to be, and counts the write. */
  #fence(fence: Fence | undefined, firstEvent: number | undefined): string {
    if (fence === undefined) return `SELECT 0::bigint AS run, 0::bigint AS writes, ${later} AS later`;
    const { run_id, session_id, attempt, writes } = fence;
    const conditions = [
      `run_id = ${this.#value(run_id)}`,
      `session = (SELECT id FROM sessions WHERE session_id = ${this.#value(session_id)})`,
    ];
    if (attempt !== undefined) conditions.push(`attempt = ${this.#value(attempt)}::int`);
    if (writes !== undefined) conditions.push(`writes = ${this.#value(writes)}::bigint`);
    if (firstEvent !== undefined) {
      const first = `${this.#value(firstEvent)}::int`;
      conditions.push(`${first} > expired_events`);
      conditions.push(`${first} > coalesce((SELECT max(last_id) FROM run_events WHERE run = runs.id), -1)`);
    }
    const counted = attempt === undefined ? "writes = writes" : "writes = writes + 1";
    return `UPDATE runs SET ${counted} WHERE ${conditions.join(" AND ")} RETURNING id AS run, writes, ${later} AS later`;
  }
}
