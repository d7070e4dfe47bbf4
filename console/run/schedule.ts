/** A schedule of a kind that has words; what has none is shown as it is written. */
export type Rhythm =
  | { kind: "minute" }
  | { kind: "minutes"; every: number }
  | { kind: "hour"; minute: number }
  | { kind: "hours"; every: number; minute: number }
  | { kind: "day"; hour: number; minute: number }
  | { kind: "workday"; hour: number; minute: number }
  /** Days of the week, Sunday first. */
  | { kind: "week"; days: readonly number[]; hour: number; minute: number }
  | { kind: "month"; day: number; hour: number; minute: number };

const names: Readonly<Record<string, string>> = {
  "@hourly": "0 * * * *",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@weekly": "0 0 * * 0",
  "@monthly": "0 0 1 * *",
};
const weekdays = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/** What a schedule says, where that is simple enough for words. */
export function rhythmOf(schedule: string): Rhythm | undefined {
  const fields = (names[schedule.trim().toLowerCase()] ?? schedule).trim().toLowerCase().split(/\s+/u);
  if (fields.length !== 5) return undefined;
  const [minutes = "", hours = "", day = "", month = "", weekday = ""] = fields;
  if (month !== "*") return undefined;
  const isEachDay = day === "*" && weekday === "*";
  if (isEachDay && hours === "*") return rhythmOfMinutes(minutes);
  const minute = numberOf(minutes);
  if (minute === undefined) return undefined;
  const every = stepOf(hours);
  if (every !== undefined && isEachDay) return { kind: "hours", every, minute };
  const hour = numberOf(hours);
  if (hour === undefined) return undefined;
  return day === "*" ? rhythmOfWeek(weekday, hour, minute) : rhythmOfMonth(day, weekday, hour, minute);
}

function rhythmOfMinutes(minutes: string): Rhythm | undefined {
  if (minutes === "*") return { kind: "minute" };
  const every = stepOf(minutes);
  if (every !== undefined) return { kind: "minutes", every };
  const minute = numberOf(minutes);
  return minute === undefined ? undefined : { kind: "hour", minute };
}

function rhythmOfMonth(date: string, weekday: string, hour: number, minute: number): Rhythm | undefined {
  const day = numberOf(date);
  return day === undefined || weekday !== "*" ? undefined : { kind: "month", day, hour, minute };
}

function rhythmOfWeek(weekday: string, hour: number, minute: number): Rhythm | undefined {
  if (weekday === "*") return { kind: "day", hour, minute };
  if (weekday === "1-5" || weekday === "mon-fri") return { kind: "workday", hour, minute };
  const days = weekday.split(",").map((one) => (weekdays.includes(one) ? weekdays.indexOf(one) : numberOf(one)));
  const known = days.flatMap((one) => (one === undefined || one > 7 ? [] : [one % 7]));
  return known.length < days.length ? undefined : { kind: "week", days: known, hour, minute };
}

function numberOf(field: string): number | undefined {
  return /^\d{1,2}$/u.test(field) ? Number(field) : undefined;
}

function stepOf(field: string): number | undefined {
  const every = /^\*\/(\d{1,2})$/u.exec(field)?.[1];
  return every === undefined ? undefined : Number(every);
}
