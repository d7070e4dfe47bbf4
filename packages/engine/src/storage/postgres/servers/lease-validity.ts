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
