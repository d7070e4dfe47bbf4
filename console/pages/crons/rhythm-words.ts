import type { TFunction } from "i18next";
import { rhythmOf, type Rhythm } from "../../run/schedule.ts";
import { currentLocale } from "../../text/language.ts";
import type { manage } from "../../text/manage/words.ts";

/** A schedule in words, or as it is written where there are none for it. */
export function rhythmWords(t: TFunction<typeof manage>, schedule: string): string {
  const rhythm = rhythmOf(schedule);
  return rhythm === undefined ? schedule : wordsOf(t, rhythm);
}

function wordsOf(t: TFunction<typeof manage>, rhythm: Rhythm): string {
  switch (rhythm.kind) {
    case "minute":
      return t("crons.rhythm.minute");
    case "minutes":
      return t("crons.rhythm.minutes", { count: rhythm.every });
    case "hour":
      return t("crons.rhythm.hour", { minute: twoDigits(rhythm.minute) });
    case "hours":
      return t("crons.rhythm.hours", { count: rhythm.every, minute: twoDigits(rhythm.minute) });
    case "day":
      return t("crons.rhythm.day", { time: timeOf(rhythm) });
    case "workday":
      return t("crons.rhythm.workday", { time: timeOf(rhythm) });
    case "week":
      return t("crons.rhythm.week", { days: daysOf(rhythm.days), time: timeOf(rhythm) });
    case "month":
      return t("crons.rhythm.month", { day: rhythm.day, time: timeOf(rhythm) });
  }
}

function twoDigits(value: number): string {
  return String(value).padStart(2, "0");
}

function timeOf({ hour, minute }: { hour: number; minute: number }): string {
  return `${twoDigits(hour)}:${twoDigits(minute)}`;
}

/** The names of days of the week, Sunday first. */
function daysOf(days: readonly number[]): string {
  const format = new Intl.DateTimeFormat(currentLocale(), { weekday: "long", timeZone: "UTC" });
  // The first of February 2026 is a Sunday.
  const names = days.map((day) => format.format(Date.UTC(2026, 1, 1 + day)));
  return new Intl.ListFormat(currentLocale(), { type: "conjunction" }).format(names);
}
