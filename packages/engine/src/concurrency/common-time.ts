/** Milliseconds by which the clock of this machine may be wrong without being corrected: as exactly is a distance measured. */
const negligible = 250;

/** Milliseconds by which the common clock is ahead of this machine's. To be added where each run asks for the time. */
export const commonClock = { ahead: 0 };

/**
 * Now in milliseconds since 1970 by the clock that all servers of one storage have in common, that of their database. Where there
 * is one server, by the machine's own.
 */
export function commonTime(): number {
  return Date.now() + commonClock.ahead;
}

/** `commonTime` as an ISO date. */
export function commonDate(): string {
  return new Date(commonTime()).toISOString();
}

/** The common clock showed `time` at a moment between `sent` and now by this machine's. */
export function heardCommonTime(time: number, sent: number): void {
  const received = Date.now();
  const distance = time - (sent + received) / 2;
  // What took so long says little; another one comes.
  if (received - sent > negligible || Math.abs(distance - commonClock.ahead) <= negligible) return;
  commonClock.ahead = Math.abs(distance) <= negligible ? 0 : Math.round(distance);
}
