import { AppError, isAppError } from "../../errors/errors.ts";
import type { RunEvent } from "../../run-events.ts";
import type { EventStore } from "../storage.ts";

/** Milliseconds between two polls of an open log without notifications. */
const pollInterval = 100;
/** Milliseconds between two polls while the store is unavailable. */
const outageInterval = 1_000;
const readSize = 100;
/** The newest events that memory holds for the readers of a run. */
const windowSize = 256;

/** Stored events with an id above `after`, in batches, until the store has no more or the signal is aborted. */
export async function* readStored(
  events: EventStore,
  runId: string,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<RunEvent[]> {
  let cursor = after;
  while (!signal.aborted) {
    const batch = await events.read(runId, cursor, readSize);
    const last = batch.at(-1);
    if (last === undefined) return;
    cursor = last.id;
    yield batch;
  }
}

/** The last id in the log of a run, and whether the run is over. A run that is over has stored all of its events. */
export interface LogState {
  last_id: number;
  is_over: boolean;
}

/** What the readers of logs read. */
type Logs = Pick<EventStore, "read"> & { standing: (runId: string) => Promise<LogState | undefined> };

/** Notifies a follower of new events; without it, the follower polls. */
export interface LogSubscriptions {
  /** Calls `moved` when a run may have new events. */
  follow(runId: string, moved: () => void): LogSubscription;
}

/** A subscription to one log. */
interface LogSubscription {
  /** Milliseconds until the next poll, unless a notification comes first. */
  readonly pollInterval: number;
  close(): void;
}

const noSubscriptions: LogSubscriptions = { follow: () => ({ pollInterval, close: () => undefined }) };

/**
 * `EventStore.follow` for any database: all readers of a run share one poller. The process that executes a run reads its
 * events from memory instead.
 */
export class LogFollower {
  readonly #logs: Logs;
  readonly #subscriptions: LogSubscriptions;
  readonly #tails = new Map<string, LogTail>();

  constructor(logs: Logs, subscriptions: LogSubscriptions = noSubscriptions) {
    this.#logs = logs;
    this.#subscriptions = subscriptions;
  }

  /** See `EventStore.follow`. */
  async *follow(runId: string, after: number, signal: AbortSignal): AsyncGenerator<RunEvent[], void> {
    let tail = this.#tails.get(runId);
    if (tail === undefined || tail.isOver)
      this.#tails.set(runId, (tail = new LogTail(runId, this.#logs, this.#subscriptions)));
    tail.readers += 1;
    try {
      yield* tail.read(after, signal);
    } finally {
      tail.readers -= 1;
      if (tail.readers === 0) {
        tail.close();
        if (this.#tails.get(runId) === tail) this.#tails.delete(runId);
      }
    }
  }
}

/** The log of one run, for all of its readers in this process. */
class LogTail {
  readonly #runId: string;
  readonly #logs: Logs;
  /** The newest events: all that are stored above `#base` and up to `#last`. */
  readonly #events: RunEvent[] = [];
  #base = -1;
  #last = -1;
  #failure: { error: unknown } | undefined;
  readonly #opened: Promise<void>;
  readonly #waiting = new Set<() => void>();
  #wakePoller: (() => void) | undefined;
  /** Whether something has moved since the last look. */
  #hasChanged = false;
  #isClosed = false;
  readers = 0;
  /** No more events will come. */
  isOver = false;

  constructor(runId: string, logs: Logs, subscriptions: LogSubscriptions) {
    this.#runId = runId;
    this.#logs = logs;
    this.#opened = this.#open(subscriptions);
  }

  /** The last reader has left. */
  close(): void {
    this.#isClosed = true;
    this.#wakePoller?.();
  }

  async #open(subscriptions: LogSubscriptions): Promise<void> {
    try {
      const found = await this.#logs.standing(this.#runId);
      if (found === undefined) throw new AppError("not_found", "Run not found");
      this.#base = this.#last = found.last_id;
      this.isOver = found.is_over;
    } catch (error) {
      // The next reader asks anew.
      this.isOver = true;
      throw error;
    }
    if (!this.isOver) void this.#keepUp(subscriptions);
  }

  /** Takes what is stored, as it comes, until the run is over or has no readers. Never throws. */
  async #keepUp(subscriptions: LogSubscriptions): Promise<void> {
    const log = subscriptions.follow(this.#runId, () => {
      this.#hasChanged = true;
      this.#wakePoller?.();
    });
    let { pollInterval: wait } = log;
    while (!this.isOver && !this.#isClosed) {
      await this.#waitForChange(wait);
      if (this.#isClosed) break;
      try {
        await this.#readNew();
        wait = log.pollInterval;
      } catch (error) {
        // Readers stay during an outage.
        wait = outageInterval;
        if (isAppError(error) && error.code === "storage_unavailable") continue;
        this.#failure = { error };
        this.isOver = true;
      }
      this.#wake();
    }
    log.close();
  }

  async #readNew(): Promise<void> {
    this.#hasChanged = false;
    const found = await this.#logs.standing(this.#runId);
    while (found !== undefined && this.#last < found.last_id) {
      const batch = await this.#logs.read(this.#runId, this.#last, readSize);
      this.#events.push(...batch);
      this.#last = batch.at(-1)?.id ?? found.last_id;
      const removed = this.#events.splice(0, this.#events.length - windowSize).at(-1);
      this.#base = removed?.id ?? this.#base;
      this.#wake();
    }
    this.isOver = found?.is_over ?? true;
  }

  /** Resolves when the log may have moved, at the latest after `wait` milliseconds. */
  async #waitForChange(wait: number): Promise<void> {
    if (this.#hasChanged) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wakePoller = resolve;
    const timer = setTimeout(resolve, wait).unref();
    await promise;
    clearTimeout(timer);
    this.#wakePoller = undefined;
  }

  /** What the window holds above an id. */
  #newerThan(cursor: number): RunEvent[] {
    const from = this.#last > cursor ? this.#events.findIndex(({ id }) => id > cursor) : -1;
    return from === -1 ? [] : this.#events.slice(from);
  }

  #wake(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of waiting) wake();
  }

  /** Batches of events with an id above `after`, as they come. */
  async *read(after: number, signal: AbortSignal): AsyncGenerator<RunEvent[], void> {
    await this.#opened;
    let cursor = after;
    let wake: (() => void) | undefined;
    const onAbort = (): void => wake?.();
    signal.addEventListener("abort", onAbort);
    try {
      while (!signal.aborted) {
        const base = this.#base;
        const isBehind = cursor < base;
        const batch = isBehind ? await this.#logs.read(this.#runId, cursor, readSize) : this.#newerThan(cursor);
        const last = batch.at(-1);
        // What is gone up to the window has been removed since.
        if (isBehind) cursor = last?.id ?? base;
        if (last !== undefined) {
          cursor = last.id;
          yield batch;
        } else if (!isBehind) {
          if (this.#failure !== undefined) throw this.#failure.error;
          if (this.isOver) return;
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
