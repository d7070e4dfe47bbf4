import { z } from "zod";
import { maxItemsPerRow } from "../../checkpoints/items.ts";
import type { ItemRow, ThreadKey } from "../../checkpoints/rows.ts";
import { readRows } from "../../rows.ts";
import type { PostgresDatabase } from "../database/database.ts";
import { dataOf } from "./batch.ts";

/** Rows of items of a thread that were written last, which may be written again: an item gets its id a step later. */
const recentRows = 4;

const StoredItems = z.object({
  first: z.number(),
  count: z.number(),
  text: z.string().nullable(),
  bytes: z.instanceof(Uint8Array).nullable(),
  crc: z.number(),
});

/** Stops synchronous work that needs a row which is not loaded. */
export class NotLoaded extends Error {
  readonly load: () => Promise<void>;

  constructor(load: () => Promise<void>) {
    super("A row of a checkpoint is not loaded yet.");
    this.load = load;
  }
}

/** The rows of items that one piece of work has loaded. Its readers throw `NotLoaded` for what is not there yet. */
export class LoadedItems {
  readonly #database: PostgresDatabase;
  /** Rows by thread, and which sequences of them were asked for. */
  readonly #threads = new Map<number, { rows: Map<number, ItemRow>; asked: Set<string> }>();

  constructor(database: PostgresDatabase) {
    this.#database = database;
  }

  /** Loads the rows of these items at once, where one of them is not loaded. */
  expect(thread: number, ranges: readonly number[]): void {
    const { asked } = this.#of(thread);
    const missing: [first: number, last: number][] = [];
    for (let at = 0; at < ranges.length; at += 2) {
      const first = ranges[at] ?? 0;
      const last = first + (ranges[at + 1] ?? 0) - 1;
      if (!asked.has(`${first} ${last}`)) missing.push([first, last]);
    }
    if (missing.length > 0) throw new NotLoaded(() => this.#load(thread, missing));
  }

  list(thread: number, first: number, last: number): ItemRow[] {
    const { rows, asked } = this.#of(thread);
    if (!asked.has(`${first} ${last}`)) throw new NotLoaded(() => this.#load(thread, [[first, last]]));
    return [...rows.values()].filter((row) => covers(row, first, last));
  }

  async #load(thread: number, wanted: readonly (readonly [first: number, last: number])[]): Promise<void> {
    const sql = `SELECT DISTINCT first, count, text, bytes, crc
      FROM unnest($2::int[], $3::int[]) AS wanted (low, high)
      JOIN checkpoint_items ON thread = $1 AND first BETWEEN low - ${maxItemsPerRow - 1} AND high AND first + count > low`;
    const values = [thread, wanted.map(([first]) => first), wanted.map(([, last]) => last)];
    const { rows, asked } = this.#of(thread);
    const found = readRows(StoredItems, "checkpoint_items", await this.#database.read(sql, values));
    for (const { first, count, crc, ...data } of found) rows.set(first, { first, count, crc, data: dataOf(data) });
    for (const [first, last] of wanted) asked.add(`${first} ${last}`);
  }

  #of(thread: number): { rows: Map<number, ItemRow>; asked: Set<string> } {
    const known = this.#threads.get(thread);
    if (known !== undefined) return known;
    const made = { rows: new Map<number, ItemRow>(), asked: new Set<string>() };
    this.#threads.set(thread, made);
    return made;
  }
}

/** Where the items of threads end that this process writes to, and the rows that it wrote last. */
export class RecentItems {
  readonly #next = new WeakMap<ThreadKey, number>();
  readonly #rows = new WeakMap<ThreadKey, ItemRow[]>();

  /** The sequence of the next item; `undefined` where that is not known. */
  next(thread: ThreadKey): number | undefined {
    return this.#next.get(thread);
  }

  /** The next item of a thread to which this process has written none. */
  beginAt(thread: ThreadKey, next: number): void {
    this.#next.set(thread, next);
  }

  /** The rows among the last ones that hold some of these items, in order. */
  list(thread: ThreadKey, first: number, last: number): ItemRow[] {
    return inOrder((this.#rows.get(thread) ?? []).filter((row) => covers(row, first, last)));
  }

  add(thread: ThreadKey, row: ItemRow): void {
    this.#next.set(thread, row.first + row.count);
    this.#rows.set(thread, [row, ...(this.#rows.get(thread) ?? [])].slice(0, recentRows));
  }

  replace(thread: ThreadKey, row: ItemRow): void {
    const rows = this.#rows.get(thread) ?? [];
    this.#rows.set(
      thread,
      rows.map((one) => (one.first === row.first ? row : one)),
    );
  }

  forget(thread: ThreadKey): void {
    this.#next.delete(thread);
    this.#rows.delete(thread);
  }
}

function covers(row: ItemRow, first: number, last: number): boolean {
  return row.first <= last && row.first + row.count > first;
}

/** Each row once, the first of equal ones. */
export function inOrder(rows: readonly ItemRow[]): ItemRow[] {
  const byFirst = new Map<number, ItemRow>();
  for (const row of rows) if (!byFirst.has(row.first)) byFirst.set(row.first, row);
  return [...byFirst.values()].sort((left, right) => left.first - right.first);
}
