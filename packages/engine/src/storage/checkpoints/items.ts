import { crc32 } from "node:zlib";
import { isBaseMessage } from "../../message-kinds.ts";
import { AppError } from "../../errors/errors.ts";
import type { Decoder } from "./decode.ts";
import type { CheckpointRows, StoredData, ItemRow } from "./rows.ts";
import { append, expand, type Ranges } from "./snapshot.ts";

/** Items per row at most: a reader of one item parses no more than these. */
export const maxItemsPerRow = 64;

/**
 * What is known of an object that is stored: where, and its fingerprint, which is unknown after it was read. `origin`
 * is the item that holds the fields when this one only adds an id.
 */
export interface ItemReference {
  sequence: number;
  origin: number;
  fingerprint: number | undefined;
  size: number;
  id: unknown;
  content: unknown;
}

/** One thread's items: its key, and which live objects are stored already. */
export class ThreadItems {
  readonly key: number;
  readonly threadId: string;
  readonly references = new WeakMap<object, ItemReference>();
  /** How often an object that was stored has been stored anew, since it had changed. */
  rewrites = 0;

  constructor(key: number, threadId: string) {
    this.key = key;
    this.threadId = threadId;
  }

  /** Remembers that `object` is stored as it is now. */
  remember(object: object, stored: Pick<ItemReference, "sequence" | "origin" | "fingerprint" | "size">): void {
    const { sequence, origin, fingerprint, size } = stored;
    const message = isBaseMessage(object) ? object : undefined;
    const before = this.references.get(object);
    if (before !== undefined && before.sequence !== sequence) this.rewrites += 1;
    this.references.set(object, {
      sequence,
      origin,
      fingerprint,
      size,
      id: message?.id,
      content: message?.content,
    });
  }
}

/** Throws `storage_corrupt`, naming the thread, unless `data` is what was written. */
export function verifyChecksum(data: string | Buffer, crc: number | null, threadId: string, what: string): void {
  if (crc32(data) !== crc) throw corruptThreadError(threadId, `a checksum of its ${what} does not match`);
}

/** The error for damaged rows of a thread. */
export function corruptThreadError(threadId: string, what: string): AppError {
  return new AppError("storage_corrupt", `The stored state of thread ${threadId} is damaged: ${what}.`, {
    suggestion: "Restore the database from a backup, or delete the thread.",
  });
}

function rowTexts(row: ItemRow): (string | Buffer)[] {
  return typeof row.data === "string" ? row.data.split("\n") : [row.data];
}

/** Calls `visit` with the stored form of each item of `ranges`; missing ones are left out. */
export function forEachStoredItem(
  rows: CheckpointRows,
  thread: ThreadItems,
  ranges: Ranges,
  visit: (sequence: number, data: string | Buffer) => void,
): void {
  rows.expectItems?.(thread, ranges);
  for (let index = 0; index < ranges.length; index += 2) {
    const start = ranges[index] ?? 0;
    const end = start + (ranges[index + 1] ?? 0) - 1;
    for (const row of rows.listItems(thread, start, end)) {
      if (row.first + row.count <= start) continue;
      verifyChecksum(row.data, row.crc, thread.threadId, "messages");
      const texts = rowTexts(row);
      for (
        let sequence = Math.max(start, row.first);
        sequence <= Math.min(end, row.first + row.count - 1);
        sequence += 1
      ) {
        const data = texts[sequence - row.first];
        if (data !== undefined) visit(sequence, data);
      }
    }
  }
}

/** Writes items again that got an id, and nothing else, since they were stored. */
export function storeMessageIds(rows: CheckpointRows, thread: ThreadItems, named: ReadonlyMap<number, string>): void {
  const changed = new Map<number, { row: ItemRow; texts: StoredData[] }>();
  let current: { row: ItemRow; texts: StoredData[] } | undefined;
  for (const [sequence, text] of named) {
    if (current === undefined || sequence < current.row.first || sequence >= current.row.first + current.row.count) {
      const row = rows.listItems(thread, sequence, sequence).at(-1);
      if (row === undefined) throw corruptThreadError(thread.threadId, `item ${sequence} is missing`);
      current = changed.get(row.first) ?? { row, texts: rowTexts(row) };
      changed.set(row.first, current);
    }
    current.texts[sequence - current.row.first] = text;
  }
  for (const { row, texts } of changed.values()) {
    const data = texts.join("\n");
    rows.updateItems(thread, { ...row, data, crc: crc32(data) });
  }
}

/** Decodes items into `into` and remembers the objects as stored. Throws `storage_corrupt` when one is missing. */
export function readItems(
  rows: CheckpointRows,
  thread: ThreadItems,
  ranges: Ranges,
  decoder: Decoder,
  into: Map<number, unknown>,
): void {
  const missing: Ranges = [];
  for (const sequence of expand(ranges)) if (!into.has(sequence)) append(missing, sequence);
  if (missing.length === 0) return;
  const found: [number, string | Buffer][] = [];
  forEachStoredItem(rows, thread, missing, (sequence, data) => found.push([sequence, data]));
  for (const [sequence, data] of found) {
    const object = decoder.decode(data);
    into.set(sequence, object);
    if (typeof object === "object" && object !== null) {
      thread.remember(object, { sequence, origin: sequence, fingerprint: undefined, size: data.length });
    }
  }
  for (const sequence of expand(missing)) {
    if (!into.has(sequence)) throw corruptThreadError(thread.threadId, `item ${sequence} is missing`);
  }
}
