import type { CheckpointStore } from "./checkpoint-store.ts";
import { ItemWriter, type WriterOptions } from "./item-writer.ts";
import { Reader } from "../events/event-batch.ts";

/**
 * Turns values into rows and back. Messages are not written into the row but once per thread into the items; the row
 * holds references, so a value that contains a long history costs O(1) bytes. A message chunk that is no item is
 * written where it stands.
 */
export interface Codec {
  /**
   * The row for `value`. Writes new messages to the thread's items, so call it inside `Database.transaction` or
   * `GroupCommit.durably`, together with the statement that keeps the row. Functions and symbols are left out. With
   * `inline: "all"` there are no new items: what is not stored yet is written where it stands, and goes with the row.
   */
  encode(threadId: string, value: unknown, inline?: WriterOptions["inline"]): string | Buffer;
  /** The value of a row of `encode`: fresh objects. Throws `storage_corrupt`, naming the thread, when items are missing. */
  decode(threadId: string, data: string | Buffer): Promise<unknown>;
}

/** The codec over a checkpointer's items. */
export function createCodec(store: CheckpointStore): Codec {
  const { database } = store;
  return {
    encode(threadId, value, inline = "chunks") {
      const state = store.openThread(threadId);
      const writer = new ItemWriter(database, state.items, { inline, verify: false });
      const data = writer.encode(value);
      writer.flush();
      return data;
    },
    decode: (threadId, data) => {
      const reader = new Reader(database, threadId, store.thread(threadId)?.items);
      return reader.build(() => reader.decoder.decode(data));
    },
  };
}
