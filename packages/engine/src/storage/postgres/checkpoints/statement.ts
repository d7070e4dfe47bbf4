import type { UsageEntry } from "../../usage.ts";
import { later, type Values } from "../database/database.ts";

/** A value of a row. */
export type Value = string | number | boolean | null | Uint8Array;

/** Who may write: an attempt of a run, or (without a number) whoever writes for a run of which no attempt does. */
export interface Fence {
  run_id: string;
  session_id: string;
  attempt: number | undefined;
  /** How many writes of the attempt there were before; `undefined` where that is not known. */
  writes: number | undefined;
}

/** The name of a column that is written as `name type`. */
function nameOf(column: string): string {
  return column.split(" ")[0] ?? "";
}

/** A statement of many parts, each of which changes something where the fence, `f`, has let it. */
export class Statement {
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
