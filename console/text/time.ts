import i18next from "i18next";
import { currentLocale } from "./language.ts";

const minute = 60_000;
const day = 86_400_000;

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
  if (isToday) return new Intl.DateTimeFormat(currentLocale(), { hour: "2-digit", minute: "2-digit" }).format(at);
  const parts: Intl.DateTimeFormatOptions = { month: "short", day: "numeric", ...(!isThisYear && { year: "numeric" }) };
  return new Intl.DateTimeFormat(currentLocale(), parts).format(at);
}

/** The whole date and time, for a tooltip. */
export function longTime(iso: string): string {
  const at = Date.parse(iso);
  if (Number.isNaN(at)) return "";
  return new Intl.DateTimeFormat(currentLocale(), { dateStyle: "long", timeStyle: "medium" }).format(at);
}

/** How long something took. */
export function duration(milliseconds: number): string {
  const seconds = milliseconds / 1_000;
  if (seconds < 10) return i18next.t("time.seconds", { count: Number(seconds.toFixed(1)) });
  if (seconds < 60) return i18next.t("time.seconds", { count: Math.round(seconds) });
  return i18next.t("time.minutes", { count: Math.round(seconds / 60) });
}

/** In which group of a list something stands by its age. */
export function ageGroup(iso: string, now = Date.now()): "today" | "yesterday" | "week" | "older" {
  const startOfDay = new Date(now).setHours(0, 0, 0, 0);
  const at = Date.parse(iso);
  if (at >= startOfDay) return "today";
  if (at >= startOfDay - day) return "yesterday";
  return at >= startOfDay - 6 * day ? "week" : "older";
}

/** A share as a percentage. */
export function percent(share: number): string {
  return new Intl.NumberFormat(currentLocale(), { style: "percent", maximumFractionDigits: 0 }).format(share);
}
