import i18next from "i18next";
import { currentLocale } from "./language.ts";

const minute = 60_000;
const day = 86_400_000;

/** Formats that were made before: to make one costs a hundred times as much as to use it. */
const made = new Map<string, Intl.DateTimeFormat>();

/** How moments are written in the language of the page. */
function moments(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const locale = currentLocale();
  const name = `${locale} ${JSON.stringify(options)}`;
  const format = made.get(name) ?? new Intl.DateTimeFormat(locale, options);
  made.set(name, format);
  return format;
}

/** A moment as it is said beside something: “2 min ago”, a time of today, else a date. */
export function shortTime(iso: string, now = Date.now()): string {
  const at = Date.parse(iso);
  if (Number.isNaN(at)) return "";
  const age = now - at;
  if (age < minute) return i18next.t("time.justNow");
  if (age < 60 * minute) {
    const relative = new Intl.RelativeTimeFormat(currentLocale(), { style: "narrow" });
    return relative.format(-Math.round(age / minute), "minute");
  }
  const isToday = new Date(at).toDateString() === new Date(now).toDateString();
  const isThisYear = new Date(at).getFullYear() === new Date(now).getFullYear();
  if (isToday) return moments({ hour: "2-digit", minute: "2-digit" }).format(at);
  const parts: Intl.DateTimeFormatOptions = { month: "short", day: "numeric", ...(!isThisYear && { year: "numeric" }) };
  return moments(parts).format(at);
}

/** The whole date and time, for a tooltip. */
export function longTime(iso: string): string {
  const at = Date.parse(iso);
  if (Number.isNaN(at)) return "";
  return moments({ dateStyle: "long", timeStyle: "medium" }).format(at);
}

/** A moment to come, with its day of the week. */
export function weekdayTime(at: number): string {
  const day: Intl.DateTimeFormatOptions = { weekday: "short", year: "numeric", month: "short", day: "numeric" };
  return moments({ ...day, hour: "2-digit", minute: "2-digit" }).format(at);
}

/** How long something took. */
export function duration(milliseconds: number): string {
  const seconds = milliseconds / 1_000;
  if (seconds < 10) return i18next.t("time.seconds", { count: Number(seconds.toFixed(1)) });
  if (seconds < 60) return i18next.t("time.seconds", { count: Math.round(seconds) });
  return i18next.t("time.minutes", { count: Math.round(seconds / 60) });
}

/** A time of day with its date, where that is not today, as short as it can be read. */
export function shortMoment(at: number, now = Date.now()): string {
  const isToday = new Date(at).toDateString() === new Date(now).toDateString();
  const day: Intl.DateTimeFormatOptions = isToday ? {} : { month: "short", day: "numeric" };
  return moments({ ...day, hour: "2-digit", minute: "2-digit" }).format(at);
}

/** A day of the calendar, such as 2026-03-01, without its year where that is this one. */
export function calendarDay(day: string, now = Date.now()): string {
  const isThisYear = day.startsWith(new Date(now).toISOString().slice(0, 4));
  const parts: Intl.DateTimeFormatOptions = { month: "short", day: "numeric", ...(!isThisYear && { year: "numeric" }) };
  return moments({ ...parts, timeZone: "UTC" }).format(Date.parse(day));
}

/** The name of a day's day of the week. */
export function weekday(day: string): string {
  return moments({ weekday: "short", timeZone: "UTC" }).format(Date.parse(day));
}

/** A day as the head of a group. */
export function dayName(iso: string): string {
  return moments({ dateStyle: "full" }).format(Date.parse(iso));
}

/** How long something took, to the millisecond where that matters. */
export function preciseDuration(milliseconds: number): string {
  const unit = (value: number, name: string, digits = 0): string =>
    new Intl.NumberFormat(currentLocale(), {
      style: "unit",
      unit: name,
      unitDisplay: "narrow",
      maximumFractionDigits: digits,
    }).format(value);
  const time = Math.max(0, milliseconds);
  if (time < 999.5) return unit(time, "millisecond", time < 10 ? 1 : 0);
  if (time < 59_950) return unit(time / 1_000, "second", time < 9_950 ? 2 : 1);
  const minutes = Math.floor(time / minute);
  if (minutes < 60) return `${unit(minutes, "minute")} ${unit((time % minute) / 1_000, "second")}`;
  return `${unit(Math.floor(minutes / 60), "hour")} ${unit(minutes % 60, "minute")}`;
}

/** In which group of a list something stands by its age. */
export function ageGroup(iso: string, now = Date.now()): "today" | "yesterday" | "week" | "older" {
  const startOfDay = new Date(now).setHours(0, 0, 0, 0);
  const at = Date.parse(iso);
  if (at >= startOfDay) return "today";
  if (at >= startOfDay - day) return "yesterday";
  return at >= startOfDay - 6 * day ? "week" : "older";
}

/** How large something is. */
export function byteSize(bytes: number): string {
  // "146 byte" is what Intl says of bytes.
  if (bytes < 1_000) return `${count(bytes)} B`;
  const [value, unit] =
    bytes < 1e6 ? [bytes / 1e3, "kilobyte"] : bytes < 1e9 ? [bytes / 1e6, "megabyte"] : [bytes / 1e9, "gigabyte"];
  return new Intl.NumberFormat(currentLocale(), {
    style: "unit",
    unit,
    unitDisplay: "short",
    maximumFractionDigits: value >= 10 ? 0 : 1,
  }).format(value);
}

/** A number with its groups of digits. */
export function count(value: number): string {
  return new Intl.NumberFormat(currentLocale()).format(value);
}

/** A large number as short as it can be read: 12.3K. */
export function shortCount(value: number): string {
  const format = new Intl.NumberFormat(currentLocale(), { notation: "compact", maximumFractionDigits: 1 });
  return format.format(value);
}

/** A share as a percentage. */
export function percent(share: number): string {
  return new Intl.NumberFormat(currentLocale(), { style: "percent", maximumFractionDigits: 0 }).format(share);
}
