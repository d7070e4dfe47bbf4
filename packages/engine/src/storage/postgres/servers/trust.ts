/** A moment by the clock that never goes back, and by that of the wall, in milliseconds. */
export interface Moment {
  monotonic: number;
  wall: number;
}

/** This moment. */
export function now(): Moment {
  return { monotonic: performance.now(), wall: Date.now() };
}

/**
 * Whether a lease that was renewed by a beat which was sent at `sent` can be relied on at `at`: it counts from before the
 * database has heard of it, and ends `margin` before its time. The clock that never goes back stands still while a machine
 * sleeps; that of the wall does not.
 */
export function isTrusted(sent: Moment, at: Moment, { ttl, margin }: { ttl: number; margin: number }): boolean {
  return Math.max(at.monotonic - sent.monotonic, at.wall - sent.wall) < ttl - margin;
}
