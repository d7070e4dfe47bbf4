import { clusterClock, clusterTime } from "../../concurrency/cluster-time.ts";
import type { RunEvent } from "../../run-events.ts";
import type { Run } from "../../storage/records.ts";
import type { AttemptStore, UnstoredEvents } from "../../storage/attempt-store.ts";
import { readStored } from "../../storage/events/follow-events.ts";
import type { EventStore } from "../../storage/storage.ts";
import type { UsageEntry } from "../../storage/usage.ts";

/** The readers of a run at other servers, which are notified that there is more of it. */
export interface LogSubscribers {
  /** Whether readers at other servers wait for what a run tells. */
  isFollowed(runId: string): boolean;
  /** There is more of the run in the store, or it is over. */
  notify(runId: string): void;
}

type WithoutId<Event> = Event extends unknown ? Omit<Event, "id" | "at"> : never;
/** An event before it has its place in the run's sequence. */
export type EventBody = WithoutId<RunEvent>;

/** Ids are reserved in blocks of this size, so that an id that was sent is not used again after a crash. */
export const idBlock = 1000;
/** The next block is reserved when so few ids are left; some are kept back for the events of one chunk. */
const idsAhead = 256;
const idsOfOneChunk = 16;
/** Milliseconds between two writes of a run's events; and where readers at other servers wait for them. */
const [groupDelay, followedDelay] = [50, 10];
const groupSize = 1000;
/** Stored events kept in memory for readers that are nearly up to date. */
const windowSize = 256;

/**
 * The events of one run that is not over. Live readers see an event in the turn it is emitted; the store gets them in
 * groups, or with the checkpoint that comes after them (`carry`). Memory holds what is not stored yet and a window
 * behind it; a reader further back reads from the store.
 */
export class RunLog implements UnstoredEvents {
  readonly #store: EventStore;
  readonly #runId: string;
  readonly #onStoreFailure: (error: unknown) => void;
  #events: RunEvent[] = [];
  /** What model calls have used and is not stored yet. */
  #usage: readonly UsageEntry[] = [];
  /** Id of the first event in memory. */
  #base: number;
  /** Id of the next event. */
  #next: number;
  /** Ids below are on disk. */
  #stored: number;
  /** Ids below are ours to give. */
  #mark: number;
  #writing: Promise<void> | undefined;
  /** The write of events that is under way or was the last. Never rejects. */
  #lastWrite: Promise<unknown> = Promise.resolve();
  #reserving: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Until when nothing from `#heldFrom` on is seen or stored. */
  #held: Promise<void> | undefined;
  #heldFrom = Infinity;
  #closed = false;
  #hasEmitted = false;
  #waiting = new Set<() => void>();
  readonly #remote: LogSubscribers | undefined;
  /** The attempt that writes; of no attempt until the run has begun. */
  writer: Pick<AttemptStore, "reserve" | "append">;

  /**
   * `onStoreFailure` is called when a group could not be written; `flush` tries again. `elsewhere`: the readers at other
   * servers.
   */
  constructor(
    store: EventStore,
    writer: Pick<AttemptStore, "reserve" | "append">,
    run: Run,
    onStoreFailure: (error: unknown) => void,
    elsewhere?: LogSubscribers,
  ) {
    this.#remote = elsewhere;
    this.#store = store;
    this.writer = writer;
    this.#runId = run.run_id;
    this.#onStoreFailure = onStoreFailure;
    // A first attempt owns the block that came with the admission; a later one starts above all that were ever reserved.
    this.#base = run.attempt === 0 ? 0 : run.event_mark;
    this.#next = this.#base;
    this.#stored = this.#base;
    this.#mark = run.event_mark;
  }

  /** Readers that wait now; for tests and for the removal of temporary sessions. */
  get waitingReaders(): number {
    return this.#waiting.size;
  }

  /** The id that the next event will have. */
  get head(): number {
    return this.#next;
  }

  /** The first id in memory; those below are in the store, or were never given. */
  get base(): number {
    return this.#base;
  }

  /** Undefined while there are ids to give; else a promise to await before the next `emit`. */
  room(): Promise<void> | undefined {
    const left = this.#mark - this.#next;
    if (left >= idsAhead) return undefined;
    if (this.#reserving === undefined) {
      this.#reserving = this.#reserve().finally(() => {
        this.#reserving = undefined;
      });
      this.#reserving.catch((error: unknown) => this.#onStoreFailure(error));
    }
    return left >= idsOfOneChunk ? undefined : this.#reserving;
  }

  async #reserve(): Promise<void> {
    const mark = Math.max(this.#mark, this.#next) + idBlock;
    await this.writer.reserve(mark);
    this.#mark = mark;
  }

  /** Appends one event and wakes the readers that wait. Callers await `room()` first. */
  emit(body: EventBody): void {
    this.#events.push({ id: this.#next++, at: eventTime(this.#hasEmitted ? "among others" : "apart"), ...body });
    this.#hasEmitted = true;
    this.#wake();
    if (this.#next - this.#stored >= groupSize) this.#write();
    else {
      const delay = this.#remote?.isFollowed(this.#runId) === true ? followedDelay : groupDelay;
      this.#timer ??= setTimeout(this.#writeInTime, delay);
    }
  }

  /** What a model call has used is stored with the next write of the run. */
  count(entry: UsageEntry): void {
    this.#usage = [...this.#usage, entry];
    this.#timer ??= setTimeout(this.#writeInTime, groupDelay);
  }

  /** Events emitted from now on are neither delivered nor stored before `until` resolves. */
  hold(until: Promise<unknown>): void {
    this.#heldFrom = Math.min(this.#heldFrom, this.#next);
    const held = Promise.all([this.#held, until]).then(() => {
      // A later hold goes on.
      if (this.#held !== held) return;
      this.#held = undefined;
      this.#heldFrom = Infinity;
      this.#wake();
    });
    this.#held = held;
  }

  #wake(): void {
    if (this.#waiting.size === 0) return;
    const waiting = this.#waiting;
    this.#waiting = new Set();
    for (const wake of waiting) wake();
  }

  /** Starts a write in the background; its failure goes to `onStoreFailure`. */
  #write(): void {
    if (this.#writing === undefined) this.flush().catch((error: unknown) => this.#onStoreFailure(error));
  }

  /** Where a write is going on, it takes along what is there; what comes after it needs a time of its own. */
  readonly #writeInTime = (): void => {
    this.#timer = undefined;
    this.#write();
  };

  /** Resolves when everything emitted and counted so far is in the store. Throws what the store throws. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
    });
    return this.#writing;
  }

  async #writeAll(): Promise<void> {
    while (this.#held !== undefined) await this.#held;
    while (this.#stored < this.#next || this.#usage.length > 0) {
      await this.flushWith((events, usage) => this.writer.append(events, usage));
    }
  }

  /** See `UnstoredEvents`: two writes at once would store the same events twice. */
  flushWith<Result>(write: (events: RunEvent[], usage: readonly UsageEntry[]) => Promise<Result>): Promise<Result> {
    const written = this.#lastWrite.then(async () => {
      while (this.#held !== undefined) await this.#held;
      const events = this.#events.slice(this.#stored - this.#base);
      const usage = this.#usage;
      const result = await write(events, usage);
      this.#stored += events.length;
      if (events.length > 0) this.#remote?.notify(this.#runId);
      this.#usage = this.#usage.slice(usage.length);
      const surplus = this.#stored - this.#base - windowSize;
      if (surplus >= windowSize) {
        this.#events.splice(0, surplus);
        this.#base += surplus;
      }
      return result;
    });
    this.#lastWrite = written.catch(() => undefined);
    return written;
  }

  /** No more events will come: readers end when they have read what there is. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#wake();
    this.#remote?.notify(this.#runId);
  }

  /** Batches of events with an id above `after`, as they come, until the log is closed or the signal is aborted. */
  async *follow(after: number, signal: AbortSignal): AsyncGenerator<RunEvent[]> {
    let cursor = after;
    let wake: (() => void) | undefined;
    const onAbort = (): void => wake?.();
    signal.addEventListener("abort", onAbort);
    try {
      while (!signal.aborted) {
        // Read before the store is asked: what is trimmed meanwhile is in the store for the next round.
        const base = this.#base;
        if (cursor + 1 < base) {
          for await (const batch of readStored(this.#store, this.#runId, cursor, signal)) {
            cursor = batch.at(-1)?.id ?? cursor;
            yield batch;
          }
          cursor = Math.max(cursor, base - 1);
          continue;
        }
        const batch = this.#events.slice(cursor + 1 - base, this.#heldFrom - base);
        const last = batch.at(-1);
        if (last !== undefined) {
          cursor = last.id;
          yield batch;
        } else if (this.#closed) {
          return;
        } else {
          const { promise, resolve } = Promise.withResolvers<void>();
          wake = resolve;
          this.#waiting.add(resolve);
          await promise;
          this.#waiting.delete(resolve);
        }
      }
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }
}

/** The newest time given; one clock for all runs of the process, so that times compare between them. */
let newest = 0;
/** Whether an event was given that time; else it only separates former events from later ones. */
let isTimeUsed = true;
/** A stored time that is further ahead, in milliseconds, is the mistake of a wrong clock and not one of ours. */
const maxClockAhead = 24 * 60 * 60 * 1000;

/**
 * Now in milliseconds since 1970 by the common clock, never less than a time given before; `apart`: a millisecond that no
 * event has had yet. A run begins and ends apart: by their times alone, all its events then come after those of the runs
 * before it, and its end between those of the others.
 */
export function eventTime(place: "among others" | "apart"): number {
  // As `clusterTime`, in one step less: each event asks.
  const { start } = clusterClock;
  const now = start === undefined ? Date.now() : Math.round(start + performance.now());
  newest = Math.max(place === "apart" ? newest + 1 : newest, now);
  isTimeUsed = true;
  return newest;
}

/**
 * A millisecond after all events so far, and not after any later one. It stays the same until the next event, so the clock
 * does not run ahead however often it is asked for.
 */
export function separatorTime(): number {
  if (isTimeUsed) eventTime("apart");
  isTimeUsed = false;
  return newest;
}

/** Lets the clock go on from a time that a former process has given, also where the machine's clock was set back since. */
export function advanceClock(time: number): void {
  if (time <= newest || time > clusterTime() + maxClockAhead) return;
  newest = time;
  isTimeUsed = true;
}
