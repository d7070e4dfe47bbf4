import { JsonPlusSerializer } from "@langchain/langgraph-checkpoint";
import type { CheckpointStore } from "./checkpoint-store.ts";
import { Decoder, type DecodeSource } from "./decode.ts";
import { ItemWriter, type WriterOptions } from "./item-writer.ts";
import { corruptThreadError, readItems, type ThreadItems } from "./items.ts";
import type { CheckpointRows } from "./rows.ts";
import type { Ranges } from "./snapshot.ts";

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
  const { rows } = store;
  return {
    encode(threadId, value, inline = "chunks") {
      const state = store.ensureThread(threadId);
      const writer = new ItemWriter(rows, state.items, { inline, verify: false });
      const data = writer.encode(value);
      writer.flush();
      return data;
    },
    async decode(threadId, data) {
      const items = await rows.read(() => store.thread(threadId)?.items);
      const reader = new Reader(rows, threadId, items);
      return await reader.build(() => reader.decoder.decode(data));
    },
  };
}

/** LangChain's own loader, with its allow list of namespaces. */
const loader = new JsonPlusSerializer();

/** Reads values of one thread. The same item read twice through one reader is the same object. */
export class Reader implements DecodeSource {
  readonly decoder: Decoder = new Decoder(this);
  readonly #rows: CheckpointRows;
  readonly #threadId: string;
  readonly #thread: ThreadItems | undefined;
  readonly #loaded = new Map<string, unknown>();
  readonly #items = new Map<number, unknown>();
  readonly #wanted = new Set<string>();

  constructor(rows: CheckpointRows, threadId: string, thread: ThreadItems | undefined) {
    this.#rows = rows;
    this.#threadId = threadId;
    this.#thread = thread;
  }

  items(ranges: Ranges): Map<number, unknown> {
    if (this.#thread === undefined) throw corruptThreadError(this.#threadId, "it has no messages");
    readItems(this.#rows, this.#thread, ranges, this.decoder, this.#items);
    return this.#items;
  }

  langChainObject(record: string): unknown {
    if (!this.#loaded.has(record)) this.#wanted.add(record);
    return this.#loaded.get(record);
  }

  /**
   * What `build` makes of this reader. LangChain's loader is asynchronous, so a value that holds one of its records is
   * built a second time, once they are loaded. A class that is not on the allow list stays a plain record.
   */
  async build<T>(build: () => T): Promise<T> {
    let built = await this.#rows.read(build);
    while (this.#wanted.size > 0) {
      for (const record of this.#wanted) this.#loaded.set(record, await loadRecord(record));
      this.#wanted.clear();
      this.#items.clear();
      built = await this.#rows.read(build);
    }
    return built;
  }
}

async function loadRecord(record: string): Promise<unknown> {
  try {
    return await loader.loadsTyped("json", record);
  } catch {
    // Upstream fails the whole thread here; the data of an unknown class is still data.
    return JSON.parse(record);
  }
}
