/** The monotonic clock and the wall clock at one moment, in milliseconds. */
export interface ClockReading {
  monotonic: number;
  wall: number;
}

/** Reads both clocks. */
export function readClocks(): ClockReading {
  return { monotonic: performance.now(), wall: Date.now() };
}

/**
 * Whether a lease is valid at `at` when its last renewal was sent at `sent`. The lease starts when the heartbeat is sent, not
 * when the database receives it, and ends `margin` early. The monotonic clock stops while a machine sleeps, so the wall clock
 * counts as well.
 */
export function isLeaseValid(
  sent: ClockReading,
  at: ClockReading,
  { ttl, margin }: { ttl: number; margin: number },
): boolean {
  return Math.max(at.monotonic - sent.monotonic, at.wall - sent.wall) < ttl - margin;
}

/** Whether a timer that fires every `milliseconds` was late by as much: something blocked or froze the process. */
export class IntervalWatch {
  readonly #milliseconds: number;
  #firedAt = performance.now();
  /** Remains true until the caller resets it. */
  wasLate = false;

  constructor(milliseconds: number) {
    this.#milliseconds = milliseconds;
  }

  /** The timer has fired. */
  fired(): void {
    const now = performance.now();
    this.wasLate ||= now - this.#firedAt >= 2 * this.#milliseconds;
    this.#firedAt = now;
  }
}
