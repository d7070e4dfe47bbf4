import type { ThreadItems } from "./items.ts";
import { weightOf, type Snapshot } from "./snapshot.ts";

/** How many threads memory holds, whatever their size, and how many seconds it holds an unused one. */
export interface CacheLimits {
  threads: number;
  seconds: number;
}
const defaultLimits: CacheLimits = { threads: 512, seconds: 300 };
/** Characters of state kept at most over all threads. */
const weightLimit = 48 * 1024 * 1024;
/** Namespaces kept per thread: every call of a subgraph opens one. */
const namespaceLimit = 12;

/**
 * What memory holds of one namespace: its key, its last checkpoint, and what that weighed when it was looked at last.
 * `newestId`: no checkpoint has a greater id; `undefined` where that is not known.
 */
export interface NamespaceState {
  key: number;
  last: Snapshot | undefined;
  newestId?: string | undefined;
  weight: number;
}

/** What memory holds of one thread. */
export interface ThreadState {
  items: ThreadItems;
  namespaces: Map<string, NamespaceState>;
  runs: Map<string, number>;
  /** What the newer of two states has greater: its id, unless the machine's clock was set back between two of them. */
  newestBy: "id" | "key";
  weight: number;
  /** When it was used last, in milliseconds. */
  used: number;
}

function refresh<Key, Value>(map: Map<Key, Value>, key: Key, value: Value): void {
  map.delete(key);
  map.set(key, value);
}

/** The threads used last, bounded by number and by size, so that memory stays flat however many threads there are. */
export class ThreadCache {
  readonly #threads = new Map<string, ThreadState>();
  readonly #limits: CacheLimits;
  #weight = 0;

  constructor(limits: CacheLimits = defaultLimits) {
    this.#limits = limits;
  }

  get(threadId: string): ThreadState | undefined {
    const state = this.#threads.get(threadId);
    if (state === undefined) return undefined;
    state.used = Date.now();
    refresh(this.#threads, threadId, state);
    return state;
  }

  add(items: ThreadItems, newestBy: ThreadState["newestBy"] = "id"): ThreadState {
    const maps = { namespaces: new Map(), runs: new Map() };
    const state: ThreadState = { items, ...maps, newestBy, weight: 0, used: Date.now() };
    this.#threads.set(items.threadId, state);
    this.#shrink(state);
    return state;
  }

  /** Makes `namespace` the newest of its thread, and measures the thread again. */
  touch(state: ThreadState, name: string, namespace: NamespaceState): void {
    refresh(state.namespaces, name, namespace);
    for (const oldest of state.namespaces.keys()) {
      if (state.namespaces.size <= namespaceLimit) break;
      if (oldest !== "") state.namespaces.delete(oldest);
      else refresh(state.namespaces, oldest, state.namespaces.get(oldest) ?? namespace);
    }
    namespace.weight = namespace.last === undefined ? 0 : weightOf(namespace.last);
    let weight = 2048;
    for (const one of state.namespaces.values()) weight += one.last === undefined ? 0 : one.weight;
    if (this.#threads.get(state.items.threadId) === state) this.#weight += weight - state.weight;
    state.weight = weight;
    this.#shrink(state);
  }

  delete(threadId: string): void {
    const state = this.#threads.get(threadId);
    if (state === undefined) return;
    this.#threads.delete(threadId);
    this.#weight -= state.weight;
  }

  /** Forgets everything. */
  clear(): void {
    this.#threads.clear();
    this.#weight = 0;
  }

  /** Lets the threads go that were used longest ago; the one in use stays, and goes last. */
  #shrink(inUse: ThreadState): void {
    const { threads, seconds } = this.#limits;
    const unused = Date.now() - seconds * 1000;
    for (const [threadId, state] of this.#threads) {
      const fits = this.#threads.size <= threads && this.#weight <= weightLimit;
      if (fits && state.used >= unused) return;
      if (state === inUse) continue;
      this.delete(threadId);
    }
  }
}
