import { AppError } from "../errors/errors.ts";
import { withTimeout } from "./abort.ts";

/** The default limit for the wait, in milliseconds. */
const defaultPatience = 10_000;

/** Runs work with the same key one after the other, first come, first served. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<void>>();
  readonly #patience: number;

  /** `patience`: milliseconds after which a waiting caller gives up. */
  constructor(patience = defaultPatience) {
    this.#patience = patience;
  }

  /**
   * Runs `work` when all earlier work under this key is over, whether it succeeded or failed. It must not use the same key.
   * Throws `conflict` when that takes too long; `work` has not run then.
   */
  async run<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    const before = this.#last.get(key);
    const { promise: over, resolve } = Promise.withResolvers<void>();
    const end = (): void => {
      resolve();
      if (this.#last.get(key) === over) this.#last.delete(key);
    };
    this.#last.set(key, over);
    if (
      before !== undefined &&
      !(await withTimeout(
        before.then(() => true),
        this.#patience,
        () => false,
      ))
    ) {
      // The next caller still waits for the work under way.
      void before.then(end);
      const seconds = this.#patience / 1000;
      throw new AppError("conflict", `An earlier change has not ended within ${seconds} s.`, {
        suggestion: "Nothing was changed; send the request again.",
        recoverable: true,
      });
    }
    try {
      return await work();
    } finally {
      end();
    }
  }
}

/**
 * One worker per session and a bound across sessions. `work` does one run of the session, if there is one, and says
 * whether there may be another; sessions that wait for a place get it in the order they came. No timers: work begins when `wake` is called.
 */
export class SessionQueue {
  readonly #limit: number;
  readonly #work: (sessionId: string) => Promise<boolean>;
  /** Sessions that work now; true when they were woken meanwhile. */
  readonly #working = new Map<string, boolean>();
  onRoom: (() => void) | undefined;
  /** Sessions that wait for a place, oldest first. */
  readonly #ready = new Set<string>();
  #closed = false;
  readonly #idle = Promise.withResolvers<void>();

  /** `work` must not reject. */
  constructor(limit: number, work: (sessionId: string) => Promise<boolean>) {
    this.#limit = limit;
    this.#work = work;
  }

  /** How many sessions more could work now. */
  get room(): number {
    return this.#closed ? 0 : Math.max(0, this.#limit - this.#working.size - this.#ready.size);
  }

  /** There may be something to do for the session. */
  wake(sessionId: string): void {
    if (this.#closed) return;
    if (this.#working.has(sessionId)) {
      this.#working.set(sessionId, true);
      return;
    }
    this.#ready.add(sessionId);
    if (this.#working.size < this.#limit) void this.workThrough();
  }

  /** Keeps a place for a session that does not work, if one is free, until `workThrough` or `leave`. */
  reserve(sessionId: string): boolean {
    if (this.#closed || this.#working.has(sessionId) || this.#working.size >= this.#limit) return false;
    this.#working.set(sessionId, false);
    return true;
  }

  /** The place that was kept for the session is for others. */
  leave(sessionId: string): void {
    if (this.#working.get(sessionId) === true && !this.#closed) this.#ready.add(sessionId);
    this.#working.delete(sessionId);
    void this.workThrough();
  }

  /**
   * One worker: takes the sessions that are ready, one after the other, also those that become ready meanwhile; before
   * them the one that a place was kept for.
   */
  async workThrough(reserved?: string): Promise<void> {
    let sessionId = reserved ?? this.#ready.values().next().value;
    while (sessionId !== undefined) {
      this.#ready.delete(sessionId);
      this.#working.set(sessionId, false);
      const hasMore = await this.#work(sessionId);
      const woken = this.#working.get(sessionId) === true;
      this.#working.delete(sessionId);
      // Behind the others: a long queue of one session does not keep the rest waiting.
      if ((hasMore || woken) && !this.#closed) this.#ready.add(sessionId);
      sessionId = this.#ready.values().next().value;
    }
    if (this.#closed && this.#working.size === 0) this.#idle.resolve();
    else this.onRoom?.();
  }

  /** Begins nothing more; resolves when what is being worked on has ended. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#ready.clear();
    if (this.#working.size > 0) await this.#idle.promise;
  }
}
