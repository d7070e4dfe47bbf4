import { Cron as Schedule } from "croner";
import { clusterTime } from "../concurrency/cluster-time.ts";
import type { Cron } from "../storage/record-stores.ts";

/** The fields that determine a cron's due dates. */
type CronTimes = Pick<Cron, "schedule" | "timezone" | "end_time">;

/** Dates counted at most: after a long downtime, the exact number does not matter. */
const counted = 1_000;

/** Whether a time zone exists: a name of the IANA database, such as Europe/Berlin or UTC. */
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
  // Without a time zone the library would use this machine's.
  return new Schedule(schedule, { timezone: timezone ?? "UTC", mode: "5-part" });
}

/**
 * The first due date after `after` (ISO), before the cron's end; `null` if there is none. A time skipped by the clock
 * in spring is due right after; a repeated one in autumn is due once. Steps and ranges go by the hour.
 */
export function nextDate({ schedule, timezone, end_time }: CronTimes, after: Date): string | null {
  const next = parse(schedule, timezone).nextRun(after);
  if (next === null || (end_time !== null && next >= new Date(end_time))) return null;
  return next.toISOString();
}

/** The next due dates from now, at most `count`, as a cron with these times would have them. */
export function nextDates(times: CronTimes, count: number): string[] {
  const dates: string[] = [];
  for (let at = nextDate(times, new Date(clusterTime())); at !== null && dates.length < count;) {
    dates.push(at);
    at = nextDate(times, new Date(at));
  }
  return dates;
}

/** The number of due dates after `from` until `to`, at most a thousand. */
export function datesBetween(times: CronTimes, from: Date, to: Date): number {
  let count = 0;
  for (let at = nextDate(times, from); at !== null && at <= to.toISOString() && count < counted; count += 1) {
    at = nextDate(times, new Date(at));
  }
  return count;
}
