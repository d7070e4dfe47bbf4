import i18next from "i18next";
import { currentLocale } from "./language.ts";
import { inOneUnit, inUnits, type InUnit } from "./units.ts";

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

function inWords({ unit, value }: InUnit): string {
  return i18next.t(`time.${unit}`, { value: count(value) });
}

/** A moment as it is said beside something: “2 min ago”, a time of today, else a date. */
export function shortTime(iso: string, now = Date.now()): string {
  const at = Date.parse(iso);
  if (Number.isNaN(at)) return "";
  const age = now - at;
  if (age < minute) return i18next.t("time.justNow");
  if (age < 60 * minute)
    return i18next.t("time.ago", { time: inWords({ unit: "minutes", value: Math.floor(age / minute) }) });
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
  return inWords(inOneUnit(milliseconds));
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
  return inUnits(milliseconds).map(inWords).join(" ");
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

/** An amount of money in the currency of the models' prices, which is not known here: 0.00012, 3.4, 12.35. */
export function money(amount: number): string {
  const digits = Math.abs(amount) < 1 ? { maximumSignificantDigits: 2 } : { maximumFractionDigits: 2 };
  return new Intl.NumberFormat(currentLocale(), digits).format(amount);
}
