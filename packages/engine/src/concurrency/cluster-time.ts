/**
 * The clock that all servers of one storage have in common, that of their database: what it showed when this process's own clock
 * that never jumps (`performance.now()`) was at 0. Nothing where there is one server for a storage: the machine's clock counts.
 */
export const clusterClock: { start: number | undefined } = { start: undefined };

/** Now in milliseconds since 1970 by the common clock. A machine's clock that is wrong, or is set, does not change it. */
export function clusterTime(): number {
  const { start } = clusterClock;
  return start === undefined ? Date.now() : Math.round(start + performance.now());
}

/** `clusterTime` as an ISO date. */
export function clusterDate(): string {
  return new Date(clusterTime()).toISOString();
}

/**
 * The common clock showed `time` at a moment between `sent`, by `performance.now()`, and now. What is known already stays where
 * that can be so: the more often it is heard, the nearer it comes, and an answer that took long says little.
 */
export function syncClusterTime(time: number, sent: number): void {
  const [earliest, latest] = [time - performance.now(), time - sent];
  const { start = (earliest + latest) / 2 } = clusterClock;
  clusterClock.start = Math.min(latest, Math.max(earliest, start));
}

/** From now on there is no clock in common. */
export function resetClusterTime(): void {
  clusterClock.start = undefined;
}
