import { JsonPlusSerializer } from "@langchain/langgraph-checkpoint";
import type { Database } from "../database/database.ts";
import { Decoder, type DecodeSource } from "../checkpoints/decode.ts";
import { corruptThread, readItems, type ThreadItems } from "../checkpoints/items.ts";
import type { Ranges } from "../checkpoints/ranges.ts";

/** LangChain's own loader, with its allow list of namespaces. */
const loader = new JsonPlusSerializer();

/** Reads values of one thread. The same item read twice through one reader is the same object. */
export class Reader implements DecodeSource {
  readonly decoder: Decoder = new Decoder(this);
  readonly #database: Database;
  readonly #threadId: string;
  readonly #thread: ThreadItems | undefined;
  readonly #loaded = new Map<string, unknown>();
  readonly #items = new Map<number, unknown>();
  readonly #wanted = new Set<string>();

  constructor(database: Database, threadId: string, thread: ThreadItems | undefined) {
    this.#database = database;
    this.#threadId = threadId;
    this.#thread = thread;
  }

  items(ranges: Ranges): Map<number, unknown> {
    if (this.#thread === undefined) throw corruptThread(this.#threadId, "it has no messages");
    readItems(this.#database, this.#thread, ranges, this.decoder, this.#items);
    return this.#items;
  }

  loaded(record: string): unknown {
    if (!this.#loaded.has(record)) this.#wanted.add(record);
    return this.#loaded.get(record);
  }

  /**
   * What `build` makes of this reader. LangChain's loader is asynchronous, so a value that holds one of its records is
   * built a second time, once they are loaded. A class that is not on the allow list stays a plain record.
   */
  async build<T>(build: () => T): Promise<T> {
    let built = this.#database.read(build);
    while (this.#wanted.size > 0) {
      for (const record of this.#wanted) this.#loaded.set(record, await loadRecord(record));
      this.#wanted.clear();
      this.#items.clear();
      built = this.#database.read(build);
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
