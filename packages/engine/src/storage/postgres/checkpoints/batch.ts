import type { Data, ItemRow, NewCheckpoint, WriteRow } from "../../checkpoints/rows.ts";
import type { UsageEntry } from "../../usage.ts";
import type { Values } from "../database/database.ts";
import { type Fence, Statement, type Value } from "./statement.ts";

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
    this.#insertions(statement);
    this.#changes(statement);
    this.#removals(statement);
    statement.addUsage(this.usage);
    return statement.end();
  }

  #insertions(statement: Statement): void {
    statement.insert("checkpoint_threads", ["key bigint", "thread_id text"], this.threads);
    statement.insert("checkpoint_namespaces", ["key bigint", "thread bigint", "ns text"], this.namespaces);
    statement.insert("checkpoint_runs", ["key bigint", "thread bigint", "run_id text"], this.runs);
    const checkpoints = Array.from(this.inserted, ([key, { namespace, id, row }]) => {
      return [key, namespace, id, ...checkpointValues(row)];
    });
    statement.insert(
      "checkpoint_rows",
      ["key bigint", "namespace bigint", "id text", ...checkpointColumns],
      checkpoints,
    );
    const blobs = this.blobs.map(([key, thread, data, crc]) => [key, thread, ...columnsOf(data), crc]);
    statement.insert("checkpoint_blobs", ["key bigint", "thread bigint", ...dataColumns], blobs);
    const writes = this.writes.map(([checkpoint, run, { task, part, path, data, crc }]) => {
      return [checkpoint, task, part, path, run ?? null, ...columnsOf(data), crc];
    });
    statement.insert("checkpoint_writes", [...writeColumns, ...dataColumns], writes);
    statement.insert("checkpoint_items", itemColumns, this.items.filter(({ isNew }) => isNew).map(itemValues));
    if (this.events === undefined) return;
    const { first, last, data } = this.events;
    statement.insert("run_events", eventColumns, [[first, last, ...columnsOf(data)]], "run");
  }

  #changes(statement: Statement): void {
    statement.update("checkpoint_items", 2, itemColumns, this.items.filter(({ isNew }) => !isNew).map(itemValues));
    const written = Array.from(this.written, ([key, row]) => [key, ...checkpointValues(row)]);
    statement.update("checkpoint_rows", 1, ["key bigint", ...checkpointColumns], written);
    const completed = this.completed.map(([key, data, crc]) => [key, null, data, crc]);
    statement.update("checkpoint_rows", 1, ["key bigint", "base bigint", "data text", "crc bigint"], completed);
    const clocks = this.clocks.map((key) => [key, 1]);
    statement.update("checkpoint_threads", 1, ["key bigint", "clock_went_back smallint"], clocks);
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
const writeColumns = ["checkpoint bigint", "task text", "part int", "path text", "run bigint"];
const itemColumns = ["thread bigint", "first int", "count int", ...dataColumns];
const eventColumns = ["first_id int", "last_id int", "text text", "bytes bytea"];
const checkpointColumns = ["parent text", "run bigint", "base bigint", "data text", "crc bigint"];

function checkpointValues(row: NewCheckpoint | undefined): Value[] {
  if (row === undefined) return [null, null, null, null, null];
  return [row.parent ?? null, row.run ?? null, row.base ?? null, row.data, row.crc];
}

function itemValues({ thread, row }: { thread: number; row: ItemRow }): Value[] {
  return [thread, row.first, row.count, ...columnsOf(row.data), row.crc];
}
