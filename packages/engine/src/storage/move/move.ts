import { crc32 } from "node:zlib";
import { AppError, isAppError } from "../../errors/errors.ts";
import { isSameRow, keyOf, type Layout, type MovedRow } from "./tables.ts";

/** A database that rows come from. */
export interface MoveSource {
  /** What it is called in messages. */
  place: string;
  /** A batch of rows in the order of their keys, of those behind a key; empty at the end. */
  read(layout: Layout, after: MovedRow | undefined): Promise<MovedRow[]>;
  count(table: string): Promise<number>;
}

/** A database that rows go to. */
export interface MoveTarget extends MoveSource {
  /** Those behind a key and up to another; at most `limit`. */
  between(layout: Layout, after: MovedRow | undefined, upTo: MovedRow, limit: number): Promise<MovedRow[]>;
  /** All or nothing. */
  insert(layout: Layout, rows: readonly MovedRow[]): Promise<void>;
  /** Removes everything. */
  clear(): Promise<void>;
}

/** How far a move is. */
export interface MoveProgress {
  step: "copied" | "compared";
  table: string;
  rows: number;
  total: number;
}

/**
 * How a move reports its progress, and when it ends early: what was copied stays, and the next one goes on behind it.
 */
export interface MoveOptions {
  onProgress: (progress: MoveProgress) => void;
  /** Told when what a former move has left is another database's, so that it begins anew. */
  onRestart: () => void;
  signal: AbortSignal;
}

/** What is in the target is not what is in the source. */
class RowMismatch extends Error {
  readonly table: string;
  constructor(table: string, key: MovedRow | undefined) {
    super(`table ${table}, ${key === undefined ? "at its end" : `at the row ${describeKey(key)}`}`);
    this.table = table;
  }
}

/** A key in a message. */
export function describeKey(key: MovedRow): string {
  return key
    .map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString("hex") : String(value)))
    .join("/");
}

/**
 * Copies every row and compares what came of it with what there was, value by value, in batches. What a former move has
 * copied is compared, too, and stays where it is the same; else the target is cleared. Gives the number of rows. Throws
 * `storage_corrupt` when the copy is not the same, or a checksum of the source is wrong.
 */
export async function moveRows(
  source: MoveSource,
  target: MoveTarget,
  layouts: readonly Layout[],
  options: MoveOptions,
): Promise<number> {
  try {
    await copyAll(source, target, layouts, options);
  } catch (error) {
    // Half a copy that cannot be read is worth no more than one of something else.
    if (!(error instanceof RowMismatch) && !(isAppError(error) && error.code === "storage_corrupt")) throw error;
    options.onRestart();
    await target.clear();
    await copyAll(source, target, layouts, options);
  }
  let rows = 0;
  try {
    for (const layout of layouts) rows += await copyOrCompare(source, target, { layout, step: "compared" }, options);
  } catch (error) {
    if (!(error instanceof RowMismatch)) throw error;
    throw new AppError("storage_corrupt", `${target.place} is not what ${source.place} is: ${error.message}.`, {
      suggestion: "Let nobody else write to either, then move again.",
      cause: error,
    });
  }
  return rows;
}

async function copyAll(
  source: MoveSource,
  target: MoveTarget,
  layouts: readonly Layout[],
  options: MoveOptions,
): Promise<void> {
  for (const layout of layouts) await copyOrCompare(source, target, { layout, step: "copied" }, options);
}

/** Goes through a table of both; rows that the target has not are added when it is `copied`, and a difference when it is `compared`. */
async function copyOrCompare(
  source: MoveSource,
  target: MoveTarget,
  { layout, step }: { layout: Layout; step: MoveProgress["step"] },
  { onProgress, signal }: MoveOptions,
): Promise<number> {
  const table = layout.name;
  const total = await source.count(table);
  let mayBeThere = step === "compared" || (await target.count(table)) > 0;
  let after: MovedRow | undefined;
  let rows = 0;
  for (;;) {
    signal.throwIfAborted();
    const batch = await source.read(layout, after);
    const last = batch.at(-1);
    if (last === undefined) break;
    if (step === "compared") verifyChecksums(layout, batch);
    const end = keyOf(layout, last);
    const there = mayBeThere ? await target.between(layout, after, end, batch.length + 1) : [];
    requireBeginning(layout, batch, there);
    const left = batch.slice(there.length);
    if (left.length > 0) {
      if (step === "compared") throw new RowMismatch(table, keyOf(layout, left[0] ?? last));
      if (mayBeThere && (await target.read(layout, end)).length > 0) throw new RowMismatch(table, end);
      mayBeThere = false;
      await target.insert(layout, left);
    }
    rows += batch.length;
    after = end;
    onProgress({ step, table, rows, total });
  }
  const [extra] = mayBeThere ? await target.read(layout, after) : [];
  if (extra !== undefined) throw new RowMismatch(table, keyOf(layout, extra));
  return rows;
}

/** The rows of the target have to be how the batch begins. */
function requireBeginning(layout: Layout, batch: readonly MovedRow[], there: readonly MovedRow[]): void {
  for (const [at, row] of there.entries()) {
    const wanted = batch[at];
    if (wanted === undefined || !isSameRow(wanted, row)) throw new RowMismatch(layout.name, keyOf(layout, row));
  }
}

/** The rows that have a checksum have to be what was written. Throws `storage_corrupt`. */
export function verifyChecksums(layout: Layout, rows: readonly MovedRow[]): void {
  const damaged = damagedRows(layout, rows);
  if (damaged[0] === undefined) return;
  throw new AppError(
    "storage_corrupt",
    `The row ${describeKey(damaged[0])} of ${layout.name} is not what was written.`,
    {
      suggestion: "Restore the database from a backup.",
    },
  );
}

/** The keys of the rows whose checksum is wrong. */
export function damagedRows(layout: Layout, rows: readonly MovedRow[]): MovedRow[] {
  const [data, text, bytes, crc] = ["data", "text", "bytes", "crc"].map((name) =>
    layout.columns.findIndex((column) => column.name === name),
  );
  if (crc === undefined || crc < 0) return [];
  return rows.flatMap((row) => {
    const summed = [data, text, bytes].map((at) => row[at ?? -1] ?? null).find((value) => value !== null);
    const isSummed = typeof summed === "string" || summed instanceof Uint8Array;
    return isSummed && crc32(summed) !== row[crc] ? [keyOf(layout, row)] : [];
  });
}
