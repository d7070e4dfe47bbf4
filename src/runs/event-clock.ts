/** The newest time given; one clock for all runs of the process, so that times compare between them. */
let newest = 0;
/** Whether something was told at that time; else it only parts what was told from what will be. */
let isTold = true;

/** Now in milliseconds since 1970, never less than a time given before. */
export function eventTime(): number {
  newest = Math.max(newest, Date.now());
  isTold = true;
  return newest;
}

/**
 * A millisecond that no event has had yet. A run begins and ends in one of its own: by their times alone, all its events
 * then come after those of the runs before it, and its end between those of the others.
 */
export function freshTime(): number {
  newest = Math.max(newest + 1, Date.now());
  isTold = true;
  return newest;
}

/**
 * A millisecond after everything told so far, and before or at all that is told from now on. The same one until something
 * is told: however often it is asked for, the clock does not run ahead.
 */
export function partingTime(): number {
  if (isTold) newest = Math.max(newest + 1, Date.now());
  isTold = false;
  return newest;
}
