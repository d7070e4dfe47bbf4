import { dayAfter, isDay } from "./model-days.ts";

const weekdays = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
const chineseWeekdays = "日一二三四五六";
const months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const chineseDays: Readonly<Record<string, number>> = { 今天: 0, 明天: 1, 后天: 2, 大后天: 3 };

/** A form of words that names a day, and the day. They stand at the beginning or at the end of what is to be done. */
const forms: readonly [pattern: string, day: (named: Record<string, string>, today: string) => string | undefined][] = [
  ["(?:on )?(?<iso>\\d{4}-\\d{2}-\\d{2})", ({ iso = "" }) => (isReal(iso) ? iso : undefined)],
  ["today", (_, today) => today],
  ["(?:the )?day after tomorrow", (_, today) => dayAfter(today, 2)],
  ["tomorrow", (_, today) => dayAfter(today, 1)],
  [
    "in (?<count>\\d{1,3}|an?|one) (?<unit>day|week)s?",
    ({ count = "", unit }, today) => dayAfter(today, (Number(count) || 1) * (unit?.toLowerCase() === "week" ? 7 : 1)),
  ],
  [
    `(?:on |next |this )?(?<weekday>${weekdays.join("|")})`,
    ({ weekday = "" }, today) => nextWeekday(today, weekdays.indexOf(weekday.toLowerCase())),
  ],
  [
    `(?:on )?(?<month>${months.join("|")})[a-z]*\\.? (?<date>\\d{1,2})(?:st|nd|rd|th)?`,
    ({ month = "", date = "" }, today) => nextDate(today, months.indexOf(month.toLowerCase()) + 1, Number(date)),
  ],
  [
    `(?:on )?(?:the )?(?<date>\\d{1,2})(?:st|nd|rd|th)? (?<month>${months.join("|")})[a-z]*\\.?`,
    ({ month = "", date = "" }, today) => nextDate(today, months.indexOf(month.toLowerCase()) + 1, Number(date)),
  ],
  ["(?<word>今天|明天|大后天|后天)", ({ word = "" }, today) => dayAfter(today, chineseDays[word] ?? 0)],
  ["(?<count>\\d{1,3})天[之以]?后", ({ count }, today) => dayAfter(today, Number(count))],
  [
    "(?:下|这|本)?(?:周|星期|礼拜)(?<weekday>[一二三四五六日天])",
    ({ weekday = "" }, today) => nextWeekday(today, chineseWeekdays.indexOf(weekday.replace("天", "日"))),
  ],
  [
    "(?<month>\\d{1,2})月(?<date>\\d{1,2})[日号]",
    ({ month, date }, today) => nextDate(today, Number(month), Number(date)),
  ],
];

/** What is to be done without the words that say when, and the day that they name; `undefined`: they name none. */
export function plannedIn(words: string, today: string): { title: string; day: string } | undefined {
  const text = words.trim();
  for (const [form, dayOf] of forms) {
    // Chinese has no spaces between words.
    const [before, after] = /\p{Script=Han}/u.test(form) ? ["[\\s，,]*", "[\\s，,]*"] : ["[\\s,]+", "[\\s,:]+"];
    for (const pattern of [`^(?<rest>.+?)${before}(?:${form})$`, `^(?:${form})${after}(?<rest>.+)$`]) {
      const named = new RegExp(pattern, "iu").exec(text)?.groups;
      const day = named && dayOf(named, today);
      if (named !== undefined && day !== undefined) return { title: named["rest"]?.trim() ?? "", day };
    }
  }
  return undefined;
}

/** The next such day of the week after today. */
function nextWeekday(today: string, weekday: number): string {
  const ahead = (weekday - new Date(`${today}T00:00:00Z`).getUTCDay() + 7) % 7;
  return dayAfter(today, ahead === 0 ? 7 : ahead);
}

/** Whether the calendar has a day: there is no 30 February. */
function isReal(day: string): boolean {
  return isDay(day) && dayAfter(day, 0) === day;
}

/** The next such day of the year, today included. */
function nextDate(today: string, month: number, date: number): string | undefined {
  const year = Number(today.slice(0, 4));
  const two = (part: number): string => String(part).padStart(2, "0");
  const days = [year, year + 1].map((one) => `${one}-${two(month)}-${two(date)}`);
  return days.find((day) => day >= today && isReal(day));
}
