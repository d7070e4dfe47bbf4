import type { StoredData, ItemRow, NewCheckpoint, WriteRow } from "../../checkpoints/rows.ts";
import { isAnswered, type UsageEntry } from "../../usage.ts";
import { asyncCommit, type Values } from "../database/database.ts";

const parameters = Array.from({ length: 33 }, (_, index) => `$${index + 1}`).join(", ");

/**
 * Writes a batch ($7 and on, see `Batch.toValues`) for an attempt of a run ($1 to $4) in the hand of a server ($5), or for
 * none; $6 is the run's key where it is known. `writes` is null where that was refused. The commit does not wait for the disk.
 */
export const writeRows = `SELECT millrace_write_v4(${parameters}) AS writes, ${asyncCommit}`;
/** `writeRows` that tells the key of the `run`. */
export const writeFirstRows = `${writeRows}, (SELECT id FROM runs WHERE run_id = $1) AS run`;

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
  data: StoredData;
}

/** A value in two columns: `text`, or `bytes` where it is more than JSON. */
export function columnsOf(data: StoredData): [text: string | null, bytes: Uint8Array | null] {
  return typeof data === "string" ? [data, null] : [null, data];
}

/** The value again. */
export function dataOf(row: { text: string | null; bytes: Uint8Array | null }): StoredData {
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
  readonly blobs: [key: number, thread: number, data: StoredData, crc: number][] = [];
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

  /** Everything as `millrace_write_rows_v2` takes it: lists of rows by name, as JSON. */
  toRows(): string {
    return JSON.stringify(this.#lists(0, this.events));
  }

  /**
   * What `millrace_write_v4` takes: as JSON what most steps do not write, then one checkpoint, one write, one item and the
   * events. Those three go first, so they are in the JSON too where something else has to be there before them.
   */
  toValues(): Values {
    const { threads, namespaces, runs, removedWrites, events } = this;
    const isUsual = threads.length + namespaces.length + runs.length + removedWrites.length === 0;
    const rest = unlessNothing(this.#lists(isUsual ? 1 : 0, undefined));
    const [checkpoint] = isUsual ? this.inserted : [];
    const [write] = isUsual ? this.writes : [];
    const item = isUsual ? this.items.find(({ isNew }) => isNew) : undefined;
    return [
      rest === undefined ? null : JSON.stringify(rest),
      ...valuesOfCheckpoint(checkpoint),
      ...valuesOfWrite(write),
      ...valuesOfItem(item),
      ...(events === undefined ? nulls(4) : [events.first, events.last, ...columnsOf(events.data)]),
    ];
  }

  /** All lists; the usual ones without the first `skipped` of each. */
  #lists(skipped: number, events: StoredEvents | undefined) {
    const newItems = this.items.filter(({ isNew }) => isNew);
    return {
      threads: listed(this.threads, ([key, thread_id]) => ({ key, thread_id })),
      maker: this.threads.length === 0 ? undefined : this.#maker,
      namespaces: listed(this.namespaces, ([key, thread, ns]) => ({ key, thread, ns })),
      runs: listed(this.runs, ([key, thread, run_id]) => ({ key, thread, run_id })),
      checkpoints: listed([...this.inserted].slice(skipped), ([key, { namespace, id, row }]) => ({
        key,
        namespace,
        id,
        ...row,
      })),
      blobs: listed(this.blobs, ([key, thread, data, crc]) => ({ key, thread, ...stored(data), crc })),
      removed_writes: listed(this.removedWrites, ([checkpoint, task, part]) => ({ checkpoint, task, part })),
      writes: listed(this.writes.slice(skipped), ([checkpoint, run, { data, ...row }]) => ({
        checkpoint,
        run,
        ...row,
        ...stored(data),
      })),
      items: listed(newItems.slice(skipped), itemRow),
      changed_items: listed(
        this.items.filter(({ isNew }) => !isNew),
        itemRow,
      ),
      events: events && { first_id: events.first, last_id: events.last, ...stored(events.data) },
      usage: listed(this.usage.entries.filter(isAnswered), (entry) => entry),
      seldom: unlessNothing(this.#seldom()),
    };
  }

  #seldom() {
    const { run_id, entries } = this.usage;
    return {
      model_usage: listed(entries, (entry) => entry),
      run_usage: listed(entries.filter(isAnswered), (entry) => ({ run_id, ...entry })),
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

function nulls(count: number): null[] {
  return Array.from({ length: count }, () => null);
}

function valuesOfCheckpoint(inserted: [key: number, checkpoint: InsertedCheckpoint] | undefined): Values {
  if (inserted === undefined) return nulls(8);
  const [key, { namespace, id, row }] = inserted;
  if (row === undefined) return [key, namespace, id, ...nulls(5)];
  return [key, namespace, id, row.parent ?? null, row.run ?? null, row.base ?? null, row.data, row.crc];
}

function valuesOfWrite(write: Batch["writes"][number] | undefined): Values {
  if (write === undefined) return nulls(8);
  const [checkpoint, run, { task, part, path, data, crc }] = write;
  return [checkpoint, task, part, path, run ?? null, ...columnsOf(data), crc];
}

function valuesOfItem(item: Batch["items"][number] | undefined): Values {
  if (item === undefined) return nulls(6);
  const { first, count, data, crc } = item.row;
  return [item.thread, first, count, ...columnsOf(data), crc];
}

function unlessNothing(rows: Record<string, unknown>): object | undefined {
  return Object.values(rows).every((list) => list === undefined) ? undefined : rows;
}

/** The columns of a value; bytes are written as PostgreSQL reads them. */
function stored(data: StoredData): { text: string } | { bytes: string } {
  return typeof data === "string" ? { text: data } : { bytes: `\\x${data.toString("hex")}` };
}

function itemRow({ thread, row: { data, ...row } }: { thread: number; row: ItemRow }) {
  return { thread, ...row, ...stored(data) };
}
