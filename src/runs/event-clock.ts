/** The newest time given; one clock for all runs of the process, so that times compare between them. */
let newest = 0;

/** Now in milliseconds since 1970, never less than a time given before. */
export function eventTime(): number {
  newest = Math.max(newest, Date.now());
  return newest;
}

/**
 * A millisecond that no event has had yet. A run begins and ends in one of its own: by their times alone, all its events
 * then come after those of the runs before it, and its end between those of the others.
 */
export function freshTime(): number {
  newest = Math.max(newest + 1, Date.now());
  return newest;
}
