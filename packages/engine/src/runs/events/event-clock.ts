/** The newest time given; one clock for all runs of the process, so that times compare between them. */
let newest = 0;
/** Whether something was told at that time; else it only parts what was told from what will be. */
let isTold = true;
/** A stored time that is further ahead, in milliseconds, is the mistake of a wrong clock and not one of ours. */
const mostAhead = 24 * 60 * 60 * 1000;

/** Now in milliseconds since 1970, never less than a time given before. */
export function eventTime(): number {
  newest = Math.max(newest, Date.now());
  isTold = true;
  return newest;
}

/**
 * A millisecond that no event has had yet. A run begins and ends in one of its own: by their times alone, all its
 * events then come after those of the runs before it, and its end between those of the others.
 */
export function freshTime(): number {
  newest = Math.max(newest + 1, Date.now());
  isTold = true;
  return newest;
}

/**
 * A millisecond after everything told so far, and before or at all that is told from now on. The same one until
 * something is told: however often it is asked for, the clock does not run ahead.
 */
export function partingTime(): number {
  if (isTold) newest = Math.max(newest + 1, Date.now());
  isTold = false;
  return newest;
}

/** Lets the clock go on from a time that a former process has given, also where the machine's clock was set back since. */
export function goOnFrom(time: number): void {
  if (time <= newest || time > Date.now() + mostAhead) return;
  newest = time;
  isTold = true;
}
