import { Cron as Schedule } from "croner";
import type { Cron } from "../storage/crons.ts";

/** What says when a cron is due. */
export type CronTimes = Pick<Cron, "schedule" | "timezone" | "end_time">;

/** Dates that are counted at most: after a long time away nobody needs the number of all of them. */
const counted = 1_000;

/** Whether there is such a time zone: a name of the IANA database, such as Europe/Berlin or UTC. */
export function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}

/** Whether a text is a schedule: minute, hour, day of the month, month and day of the week, as in `30 9 * * 1-5`. */
export function isSchedule(text: string): boolean {
  try {
    return parse(text, null).getPattern() !== undefined;
  } catch {
    return false;
  }
}

function parse(schedule: string, timezone: string | null): Schedule {
  // Without a time zone the library would take this machine's.
  return new Schedule(schedule, { timezone: timezone ?? "UTC", mode: "5-part" });
}

/**
 * The first date after `after` at which a cron is due (ISO), before its end; `null` when there is none. A time that a clock
 * skips in spring is due when it has skipped it, one that comes twice in autumn is due once; steps and ranges go by the hour.
 */
export function nextDate({ schedule, timezone, end_time }: CronTimes, after: Date): string | null {
  const next = parse(schedule, timezone).nextRun(after);
  if (next === null || (end_time !== null && next >= new Date(end_time))) return null;
  return next.toISOString();
}

/** How many dates a cron was due at after `from` until `to`; counts no further than a thousand. */
export function datesBetween(times: CronTimes, from: Date, to: Date): number {
  let count = 0;
  for (let at = nextDate(times, from); at !== null && at <= to.toISOString() && count < counted; count += 1) {
    at = nextDate(times, new Date(at));
  }
  return count;
}
