import { describe, expect, it } from "vitest";
import { datesBetween, isSchedule, isTimeZone, nextDate } from "@millrace/engine/crons/schedule";

const times = (schedule: string, timezone: string | null = null, end_time: string | null = null) => ({
  schedule,
  timezone,
  end_time,
});

/** The dates at which a schedule is due after one. */
function dates(schedule: string, timezone: string | null, after: string, count: number): (string | null)[] {
  const found: (string | null)[] = [];
  for (let at: string | null = after; found.length < count && at !== null;) {
    at = nextDate(times(schedule, timezone), new Date(at));
    found.push(at);
  }
  return found;
}

describe("a schedule", () => {
  it.each([
    ["* * * * *", null, "2026-01-01T00:00:00.000Z", ["2026-01-01T00:01:00.000Z", "2026-01-01T00:02:00.000Z"]],
    ["30 9 * * 1-5", null, "2026-11-20T09:30:00.000Z", ["2026-11-23T09:30:00.000Z", "2026-11-24T09:30:00.000Z"]],
    ["0 0 29 2 *", null, "2026-01-01T00:00:00.000Z", ["2028-02-29T00:00:00.000Z", "2032-02-29T00:00:00.000Z"]],
    ["*/20 8,20 * * *", null, "2026-01-01T08:10:00.000Z", ["2026-01-01T08:20:00.000Z", "2026-01-01T08:40:00.000Z"]],
    // The first or a Monday: both fields, one of them is enough.
    ["0 0 1 * MON", null, "2026-11-28T00:00:00.000Z", ["2026-11-30T00:00:00.000Z", "2026-12-01T00:00:00.000Z"]],
    [
      "0 9 * * *",
      "Asia/Shanghai",
      "2026-01-01T00:00:00.000Z",
      ["2026-01-01T01:00:00.000Z", "2026-01-02T01:00:00.000Z"],
    ],
    ["0 9 * * *", "Asia/Kolkata", "2026-01-01T00:00:00.000Z", ["2026-01-01T03:30:00.000Z"]],
    // Spring in Berlin, 29 March 2026: from 2 to 3 o'clock there is no time.
    [
      "0 9 * * *",
      "Europe/Berlin",
      "2026-03-28T00:00:00.000Z",
      ["2026-03-28T08:00:00.000Z", "2026-03-29T07:00:00.000Z"],
    ],
    [
      "30 2 * * *",
      "Europe/Berlin",
      "2026-03-28T02:00:00.000Z",
      ["2026-03-29T01:00:00.000Z", "2026-03-30T00:30:00.000Z"],
    ],
    [
      "30 * * * *",
      "Europe/Berlin",
      "2026-03-29T00:00:00.000Z",
      ["2026-03-29T00:30:00.000Z", "2026-03-29T01:30:00.000Z"],
    ],
    // Autumn in Berlin, 25 October 2026: from 2 to 3 o'clock comes twice.
    [
      "30 2 * * *",
      "Europe/Berlin",
      "2026-10-24T12:00:00.000Z",
      ["2026-10-25T00:30:00.000Z", "2026-10-26T01:30:00.000Z"],
    ],
    [
      "30 * * * *",
      "Europe/Berlin",
      "2026-10-25T00:00:00.000Z",
      ["2026-10-25T00:30:00.000Z", "2026-10-25T01:30:00.000Z"],
    ],
    ["0 0 30 2 *", null, "2026-01-01T00:00:00.000Z", [null]],
  ])("%s in %s is due after %s at %j", (schedule, timezone, after, expected) => {
    expect(dates(schedule, timezone, after, expected.length)).toEqual(expected);
  });

  it("is due before its end only", () => {
    const untilTen = times("0 * * * *", null, "2026-01-01T10:00:00.000Z");
    expect(nextDate(untilTen, new Date("2026-01-01T08:30:00.000Z"))).toBe("2026-01-01T09:00:00.000Z");
    expect(nextDate(untilTen, new Date("2026-01-01T09:00:00.000Z"))).toBeNull();
  });

  it("counts the dates between two, the last one included, and not without an end", () => {
    const [from, to] = [new Date("2026-01-01T00:00:00.000Z"), new Date("2026-01-01T03:00:00.000Z")];
    expect(datesBetween(times("0 * * * *"), from, to)).toBe(3);
    expect(datesBetween(times("0 * * * *", null, to.toISOString()), from, to)).toBe(2);
    expect(datesBetween(times("0 * * * *"), to, to)).toBe(0);
    expect(datesBetween(times("* * * * *"), from, new Date("2027-01-01T00:00:00.000Z"))).toBe(1000);
  });

  it.each(["", "soon", "* * * *", "* * * * * *", "60 * * * *", "* * * * 8", "*/0 * * * *", "0 9 * * * UTC"])(
    "%j is none",
    (text) => {
      expect(isSchedule(text)).toBe(false);
    },
  );

  it.each(["* * * * *", "*/5 9-17 * * MON-FRI", "@daily", "0 0 L * *"])("%j is one", (text) => {
    expect(isSchedule(text)).toBe(true);
  });

  it.each([
    ["Europe/Berlin", true],
    ["UTC", true],
    ["Europe/Atlantis", false],
    ["", false],
  ])("the time zone %j is there: %s", (name, isThere) => {
    expect(isTimeZone(name)).toBe(isThere);
  });
});
