import { AppError } from "../../errors/errors.ts";
import { parentSessionKey } from "../../runs/remote-stops.ts";
import type { Change } from "../../storage/changes.ts";
import type { JsonObject, Session } from "../../storage/records.ts";
import type { Storage } from "../../storage/storage.ts";

/** A change of a thread, a run or something else that a storage reports. */
interface FeedChange {
  seq: number;
  type: Change["type"] | "agent";
  id: string;
  /** Its thread; for a background agent, the thread that started it. */
  thread_id: string | null;
  what: Change["what"];
  /** The new state, as far as the change contains it. */
  patch: JsonObject;
}

/** A change, or a notice that changes were missed and state must be reloaded. */
export type FeedEvent = FeedChange | { seq: number; type: "resync" };

/** A change, with the session that decides who sees it; `null`: everyone. */
interface Published {
  change: FeedEvent;
  session: Session | null;
}
type Unpublished = Omit<FeedChange, "seq"> | { type: "resync" };
type FeedStorage = Pick<Storage, "watch" | "sessions"> & { cluster: Pick<Storage["cluster"], "id"> };

/** Changes buffered for reconnecting readers. */
export const ringSize = 10_000;
/** Debounce interval: each object emits at most one change per this many milliseconds. */
export const quietMilliseconds = 100;
/** Two numbers of one server are this far apart, so that those of other servers lie in between. */
const step = 100;

/**
 * Emits everything that changes on the server, in one order for all readers. It subscribes with its first reader, so an
 * unwatched server does no work for it. `seq` starts at the start time in microseconds and counts up by hundreds, so a
 * restart invalidates all earlier values. Its last two digits are those of the server's id: a number of another server,
 * which counts the same changes in an order of its own, is never taken for one of this server.
 */
export class ServerFeed {
  readonly #storage: FeedStorage;
  readonly #server: number;
  /** Changes are counted from here on; `#seqOf` makes their numbers. */
  readonly #first = Date.now() * (1000 / step);
  #next = this.#first;
  readonly #ring: Published[] = [];
  /** Changes of the last moment by object, oldest first, merged with later ones. */
  readonly #recent = new Map<
    string,
    { until: number; pending: { change: Unpublished; session: Session | null } | undefined }
  >();
  #timer: NodeJS.Timeout | undefined;
  #reading: Promise<void> = Promise.resolve();
  readonly #waiting = new Set<() => void>();
  #ready: Promise<void> | undefined;
  #isClosed = false;

  constructor(storage: FeedStorage) {
    this.#storage = storage;
    this.#server = storage.cluster.id % step;
  }

  /** Current readers. */
  readers = 0;

  /** The `seq` of the newest change. */
  get head(): number {
    return this.#seqOf(this.#next - 1);
  }

  /** Disconnects readers when the server stops; they reconnect. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#wake();
  }

  /** Starts listening, and returns whether a reader with everything up to `since` can resume. */
  async resume(since: number | undefined): Promise<{ from: number; isResumed: boolean }> {
    await (this.#ready ??= this.#listen());
    const place = since === undefined ? NaN : this.#placeOf(since);
    const isResumed = Number.isInteger(place) && place >= this.#oldest - 1 && place < this.#next;
    return { from: isResumed ? this.#seqOf(place) : this.head, isResumed };
  }

  /**
   * Yields the changes after `from` that `sees` allows, until aborted. A reader too slow for the buffer gets a notice.
   * Throws `server` when the server stops.
   */
  async *follow(
    from: number,
    sees: (session: Session) => Promise<boolean>,
    signal: AbortSignal,
  ): AsyncGenerator<FeedEvent[]> {
    let cursor = this.#placeOf(from);
    let wake: (() => void) | undefined;
    const onAbort = (): void => wake?.();
    signal.addEventListener("abort", onAbort);
    this.readers += 1;
    try {
      while (!signal.aborted) {
        if (this.#isClosed) throw new AppError("server", "The server is stopping.", { recoverable: true });
        const events: FeedEvent[] = [];
        if (cursor < this.#oldest - 1) {
          cursor = this.#next - 1;
          events.push({ seq: this.head, type: "resync" });
        }
        for (; cursor < this.#next - 1 && events.length < 100; cursor += 1) {
          const item = this.#ring[(cursor + 1 - this.#first) % ringSize];
          if (item !== undefined && (item.session === null || (await sees(item.session)))) add(events, item.change);
          if (cursor < this.#oldest - 1) break;
        }
        if (events.length > 0) yield events;
        if (cursor < this.#next - 1 || signal.aborted) continue;
        const { promise, resolve } = Promise.withResolvers<void>();
        wake = resolve;
        this.#waiting.add(resolve);
        if (!this.#isClosed) await promise;
        this.#waiting.delete(resolve);
      }
    } finally {
      this.readers -= 1;
      signal.removeEventListener("abort", onAbort);
    }
  }

  get #oldest(): number {
    return Math.max(this.#first, this.#next - ringSize);
  }

  #seqOf(place: number): number {
    return place * step + this.#server;
  }

  /** No integer for a number of another server. */
  #placeOf(seq: number): number {
    return (seq - this.#server) / step;
  }

  #listen(): Promise<void> {
    // In sequence, so that changes of an object stay in order.
    const then = (work: () => unknown): void => {
      this.#reading = this.#reading.then(work).then(undefined, () => undefined);
    };
    return this.#storage.watch(
      (changes) => then(() => this.#read(changes)),
      // Changes by other servers may have been missed: readers have to reload.
      () => then(() => this.#take({ type: "resync" }, null)),
    );
  }

  #append(change: Unpublished, session: Session | null): void {
    const seq = this.#seqOf(this.#next);
    this.#ring[(this.#next - this.#first) % ringSize] = { change: { seq, ...change }, session };
    this.#next += 1;
    this.#wake();
  }

  async #read(changes: readonly Change[]): Promise<void> {
    for (const { session: gone, ...change } of changes) {
      const session = gone ?? (await this.#storage.sessions.get(change.session_id));
      // Its deletion is published separately.
      if (session === undefined) continue;
      const parent = session.metadata[parentSessionKey];
      const { id, what, patch, session_id } = change;
      if (change.type === "thread" && typeof parent === "string") {
        this.#take({ type: "agent", id, thread_id: parent, what, patch }, session);
      }
      this.#take({ type: change.type, id, thread_id: session_id || null, what, patch }, session);
    }
  }

  /** Publishes a change, or holds it back until the debounce interval has passed. */
  #take(change: Unpublished, session: Session | null): void {
    const key = change.type === "resync" ? change.type : `${change.type} ${change.thread_id} ${change.id}`;
    const recent = this.#recent.get(key);
    if (recent === undefined) {
      this.#publish(key, change, session);
      return;
    }
    const before = recent.pending?.change;
    recent.pending = { change: before === undefined ? change : merged(before, change), session };
  }

  #publish(key: string, change: Unpublished, session: Session | null): void {
    this.#append(change, session);
    this.#recent.delete(key);
    this.#recent.set(key, { until: performance.now() + quietMilliseconds, pending: undefined });
    this.#timer ??= setTimeout(() => this.#publishDue(), quietMilliseconds).unref();
  }

  #publishDue(): void {
    this.#timer = undefined;
    const now = performance.now();
    for (const [key, { until, pending }] of this.#recent) {
      if (until > now) {
        this.#timer ??= setTimeout(() => this.#publishDue(), until - now).unref();
        break;
      }
      this.#recent.delete(key);
      if (pending !== undefined) this.#publish(key, pending.change, pending.session);
    }
  }

  #wake(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of waiting) wake();
  }
}

/** Adds an event to a batch. Of several notices in a row, a reader that comes back needs one. */
function add(events: FeedEvent[], event: FeedEvent): void {
  if (event.type === "resync" && events.at(-1)?.type === "resync") events.pop();
  events.push(event);
}

/** Merges two changes of an object. */
function merged(before: Unpublished, after: Unpublished): Unpublished {
  if (before.type === "resync" || after.type === "resync" || after.what === "deleted") return after;
  const what = before.what === "deleted" ? after.what : before.what;
  return { ...after, what, patch: { ...before.patch, ...after.patch } };
}
