import type { Data, ItemRow, NewCheckpoint, WriteRow } from "../../checkpoints/rows.ts";
import type { UsageEntry } from "../../usage.ts";
import { later } from "../database/database.ts";

/**
 * Writes the rows of a batch ($5) for an attempt of a run ($1 to $4) in the hand of a server ($6), or for none; `writes` is null where that was refused.
 * The commit does not wait for the disk.
 */
export const writeRows = `SELECT millrace_write_v3($1, $2, $3, $4, $5, $6) AS writes, ${later}`;

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
  /** What the model calls of a run have used since its last write. */
  usage: { run_id: string; entries: readonly UsageEntry[] } = { run_id: "", entries: [] };
  readonly #maker: number;

  /** `maker`: the server that makes what is new. */
  constructor(maker: number) {
    this.#maker = maker;
  }

  /** What `millrace_write_v3` takes: lists of rows by name, as JSON. */
  toRows(): string {
    const maker = this.threads.length === 0 ? undefined : this.#maker;
    return JSON.stringify({ ...this.#usual(), maker, seldom: unlessNothing(this.#seldom()) });
  }

  #usual() {
    const { events } = this;
    return {
      threads: listed(this.threads, ([key, thread_id]) => ({ key, thread_id })),
      namespaces: listed(this.namespaces, ([key, thread, ns]) => ({ key, thread, ns })),
      runs: listed(this.runs, ([key, thread, run_id]) => ({ key, thread, run_id })),
      checkpoints: listed([...this.inserted], ([key, { namespace, id, row }]) => ({ key, namespace, id, ...row })),
      blobs: listed(this.blobs, ([key, thread, data, crc]) => ({ key, thread, ...stored(data), crc })),
      removed_writes: listed(this.removedWrites, ([checkpoint, task, part]) => ({ checkpoint, task, part })),
      writes: listed(this.writes, ([checkpoint, run, { data, ...row }]) => ({
        checkpoint,
        run,
        ...row,
        ...stored(data),
      })),
      items: listed(
        this.items.filter(({ isNew }) => isNew),
        itemRow,
      ),
      changed_items: listed(
        this.items.filter(({ isNew }) => !isNew),
        itemRow,
      ),
      events: events && { first_id: events.first, last_id: events.last, ...stored(events.data) },
      usage: listed(this.usage.entries, (entry) => entry),
    };
  }

  #seldom() {
    const { run_id, entries } = this.usage;
    return {
      run_usage: listed(entries, ({ owner: _owner, day: _day, ...used }) => ({ run_id, ...used })),
      written: listed([...this.written], ([key, row]) => ({ key, ...row })),
      completed: listed(this.completed, ([key, data, crc]) => ({ key, data, crc })),
      clocks: listed(this.clocks, (key) => key),
      removed_threads: listed(this.removedThreads, (id) => id),
      removed_checkpoints: listed(this.removedCheckpoints, (key) => key),
      removed_blobs: listed(this.removedBlobs, (key) => key),
      removed_runs: listed(this.removedRuns, (key) => key),
      removed_writes_of_run: listed(this.removedWritesOfRun, ([checkpoint, run]) => ({ checkpoint, run })),
    };
  }
}

/** The list of what `row` makes; JSON leaves it out where it is empty. */
function listed<Given, Row>(all: readonly Given[], row: (given: Given) => Row): Row[] | undefined {
  return all.length === 0 ? undefined : all.map(row);
}

function unlessNothing(rows: Record<string, unknown>): object | undefined {
  return Object.values(rows).every((list) => list === undefined) ? undefined : rows;
}

/** The columns of a value; bytes are written as PostgreSQL reads them. */
function stored(data: Data): { text: string } | { bytes: string } {
  return typeof data === "string" ? { text: data } : { bytes: `\\x${data.toString("hex")}` };
}

function itemRow({ thread, row: { data, ...row } }: { thread: number; row: ItemRow }) {
  return { thread, ...row, ...stored(data) };
}
