import { LRUCache } from "lru-cache";
import type { RunEvent } from "../../../run-events.ts";

/** So many groups are remembered at most; each only as long as a reader holds one of its events. */
const groupsKept = 512;

/**
 * Groups of events that somebody reads now, decoded once for all: a hundred readers of one run hold the same events, and
 * what is rendered from them is rendered once. A group never changes, so nothing has to be forgotten but for the memory.
 */
export class DecodedGroups {
  readonly #groups = new LRUCache<string, WeakRef<RunEvent[]>>({ max: groupsKept });
  readonly #decoding = new Map<string, Promise<RunEvent[]>>();
  /** An event keeps its whole group alive, or the next reader would decode it again beside the first. */
  readonly #groupOf = new WeakMap<RunEvent, RunEvent[]>();

  /** The group of this name; `decode` is called when nobody holds it. Rejects as `decode` does. */
  get(name: string, decode: () => Promise<RunEvent[]>): Promise<RunEvent[]> {
    const known = this.#groups.get(name)?.deref();
    if (known !== undefined) return Promise.resolve(known);
    const running = this.#decoding.get(name) ?? this.#decode(name, decode);
    this.#decoding.set(name, running);
    return running;
  }

  async #decode(name: string, decode: () => Promise<RunEvent[]>): Promise<RunEvent[]> {
    try {
      const events = await decode();
      for (const event of events) this.#groupOf.set(event, events);
      this.#groups.set(name, new WeakRef(events));
      return events;
    } finally {
      this.#decoding.delete(name);
    }
  }
}
