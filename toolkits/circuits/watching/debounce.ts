/** Milliseconds of quiet before a path is checked, and the maximum delay. */
const [quietMs, maxDelayMs] = [200, 2000];

/** Signals within this many milliseconds belong together, such as both names of a move. */
const together = 20;

/** The time, as `Debounce` needs it. */
export interface Clock {
  /** Milliseconds; never goes back. */
  now(): number;
  /** Calls `work` after this many milliseconds, unless the returned function is called first. */
  after(milliseconds: number, work: () => void): () => void;
}

/** Debounces change signals by path and passes on the quiet ones together. */
export interface Debounce {
  add(path: string): void;
  /** Discards everything; emits nothing more. */
  close(): void;
}

/** The clock of the process. */
export const systemClock: Clock = {
  now: () => performance.now(),
  after(milliseconds, work) {
    const timer = setTimeout(work, milliseconds);
    return () => clearTimeout(timer);
  },
};

/** Creates a debounce. `give` gets each path once, however many signals it had. */
export function createDebounce(give: (paths: string[]) => void, clock: Clock = systemClock): Debounce {
  const signs = new Map<string, { first: number; due: number }>();
  let cancel: (() => void) | undefined;
  const wait = (): void => {
    cancel = undefined;
    let due = Infinity;
    for (const sign of signs.values()) due = Math.min(due, sign.due);
    if (signs.size > 0) cancel = clock.after(Math.max(0, due - clock.now()), look);
  };
  const look = (): void => {
    const isDue = [...signs.values()].some(({ due }) => due <= clock.now());
    const ripe = [...signs].flatMap(([path, { due }]) => (isDue && due <= clock.now() + together ? [path] : []));
    for (const path of ripe) signs.delete(path);
    wait();
    if (ripe.length > 0) give(ripe);
  };
  return {
    add(path) {
      const now = clock.now();
      const first = signs.get(path)?.first ?? now;
      signs.set(path, { first, due: Math.min(now + quietMs, first + maxDelayMs) });
      // A timer that fires early just waits again, so timers are never moved.
      if (cancel === undefined) wait();
    },
    close() {
      signs.clear();
      cancel?.();
      cancel = undefined;
    },
  };
}
