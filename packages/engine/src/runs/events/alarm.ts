import { clusterTime } from "../../concurrency/cluster-time.ts";

/**
 * Maximum delay of one timer in milliseconds, so that a changed clock or a suspended machine is noticed. If nothing is due
 * when it ends, the timer is only set again.
 */
const maxTimerMs = 600_000;

/** Milliseconds after which a server looks for what others have left to do, where it was not told. */
export const peerPollInterval = 60_000;

/**
 * One timer to what is due next. `work` does what is due and gives the time (milliseconds since 1970) of what is due
 * after that, `undefined` for nothing; it must not throw. It never runs twice at once, and keeps no process alive.
 */
export class Alarm {
  readonly #work: () => Promise<number | undefined>;
  readonly #often: number;
  #at = Infinity;
  #timer: NodeJS.Timeout | undefined;
  #working: Promise<void> | undefined;
  #isStopped = false;

  /** `often`: milliseconds after which it is looked for work in any case, since others may have made some. */
  constructor(work: () => Promise<number | undefined>, often = Infinity) {
    this.#work = work;
    this.#often = often;
  }

  /** Something is due at `time`, or has been due since. */
  scheduleAt(time: number): void {
    if (this.#isStopped || time >= this.#at) return;
    this.#at = time;
    if (this.#working === undefined) this.#arm();
  }

  #arm(): void {
    clearTimeout(this.#timer);
    if (this.#isStopped || this.#at === Infinity) return;
    const wait = Math.min(Math.max(0, this.#at - clusterTime()), maxTimerMs);
    this.#timer = setTimeout(() => this.#look(), wait).unref();
  }

  #look(): void {
    if (this.#at > clusterTime()) {
      this.#arm();
      return;
    }
    this.#at = Infinity;
    this.#working = this.#work().then((next) => {
      this.#working = undefined;
      this.#at = Math.min(this.#at, next ?? Infinity, clusterTime() + this.#often);
      this.#arm();
    });
  }

  /** Does nothing more; resolves when what is under way has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#working;
  }
}

/** Timers by name: at most one each, none after `close`. They do not keep the process alive. */
export class Delays {
  readonly #timers = new Map<string, NodeJS.Timeout>();
  #closed = false;

  /** Calls `work` once after `delay` milliseconds; an earlier timer of that name is dropped. */
  set(name: string, delay: number, work: () => void): void {
    if (this.#closed) return;
    this.clear(name);
    // A longer delay takes several timers.
    const timer = setTimeout(
      () => {
        this.#timers.delete(name);
        if (delay > maxTimerMs) this.set(name, delay - maxTimerMs, work);
        else work();
      },
      Math.min(delay, maxTimerMs),
    );
    this.#timers.set(name, timer.unref());
  }

  clear(name: string): void {
    clearTimeout(this.#timers.get(name));
    this.#timers.delete(name);
  }

  close(): void {
    this.#closed = true;
    for (const name of this.#timers.keys()) this.clear(name);
  }
}
