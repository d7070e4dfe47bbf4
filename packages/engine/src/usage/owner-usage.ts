import { type LimitName, limitNames, type UsageLimits } from "../config/owner-limits.ts";
import { AppError, withAdvice } from "../errors/errors.ts";
import type { Language } from "../language.ts";
import type { Days, Usage, UsageStore } from "../storage/usage.ts";

/** A calendar day or month in UTC, over which usage is summed. */
export type Period = "day" | "month";

/** No usage. */
export const noUsage: Usage = { requests: 0, input_tokens: 0, output_tokens: 0, cached_tokens: 0, cost: 0 };

/** The day of a time in milliseconds since 1970. */
export function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

/** The days of a day's month, up to 31. */
export function monthOf(day: string): Days {
  const month = day.slice(0, 7);
  return { from: `${month}-01`, to: `${month}-31` };
}

/** When a period's sums reset: an ISO date. */
export function endOf(period: Period, time: number): string {
  const [now, end] = [new Date(time), new Date(0)];
  const month = now.getUTCMonth();
  if (period === "day") end.setUTCFullYear(now.getUTCFullYear(), month, now.getUTCDate() + 1);
  else end.setUTCFullYear(now.getUTCFullYear(), month + 1, 1);
  return end.toISOString();
}

/** The sum of usages. */
export function sumOf(usage: readonly Usage[]): Usage {
  return usage.reduce<Usage>(added, noUsage);
}

function added(left: Usage, right: Usage): Usage {
  return {
    requests: left.requests + right.requests,
    input_tokens: left.input_tokens + right.input_tokens,
    output_tokens: left.output_tokens + right.output_tokens,
    cached_tokens: left.cached_tokens + right.cached_tokens,
    cost: left.cost + right.cost,
  };
}

/** An owner's usage today and this month, and by day. */
export interface OwnUsage {
  day: Usage;
  month: Usage;
  days: Awaited<ReturnType<UsageStore["days"]>>;
}

/** Reads an owner's current usage: a row per day of the month. */
export async function readOwnUsage(store: Pick<UsageStore, "days">, owner: string, time: number): Promise<OwnUsage> {
  const today = dayOf(time);
  const days = await store.days(owner, monthOf(today));
  return { day: sumOf(days.filter(({ day }) => day === today)), month: sumOf(days), days };
}

/** An exhausted limit. */
export interface SpentLimit {
  name: LimitName;
  limit: number;
  used: number;
  /** When it resets: an ISO date. */
  resets_at: string;
}

/** The period of a limit, and the usage it limits. */
export function partsOf(name: LimitName): { period: Period; of: "tokens" | "cost" } {
  return { period: name.endsWith("_day") ? "day" : "month", of: name.startsWith("tokens") ? "tokens" : "cost" };
}

/** The amount of a usage that is compared with a limit. */
export function amountOf({ input_tokens, output_tokens, cost }: Usage, of: "tokens" | "cost"): number {
  return of === "tokens" ? input_tokens + output_tokens : cost;
}

/** The exhausted limit that lasts longest, if any. */
export function spentLimit(limits: UsageLimits, usage: OwnUsage, time: number): SpentLimit | undefined {
  return limitNames
    .flatMap((name): SpentLimit[] => {
      const limit = limits[name];
      const { period, of } = partsOf(name);
      const used = amountOf(usage[period], of);
      return limit === undefined || used < limit ? [] : [{ name, limit, used, resets_at: endOf(period, time) }];
    })
    .toSorted((left, right) => right.resets_at.localeCompare(left.resets_at))[0];
}

const rounded = (amount: number): number => Number(amount.toFixed(4));

/** Describes an exhausted limit and its reset. */
export function describeSpent({ name, limit, used, resets_at }: SpentLimit): Record<Language, string> {
  const { period, of } = partsOf(name);
  const until = `${resets_at.slice(0, 16).replace("T", " ")} UTC`;
  const [en, zh] = [{ day: "today", month: "this month" }[period], { day: "今天", month: "本月" }[period]];
  return of === "tokens"
    ? {
        en: `The owner's limit of ${limit} tokens for ${en} is used up (${used}). It begins anew at ${until}.`,
        zh: `该账户${zh}的 ${limit} 个 token 限额已用完（已用 ${used}），将于 ${until} 重新计算。`,
      }
    : {
        en: `The owner's limit of ${limit} in costs for ${en} is used up (${rounded(used)}). It begins anew at ${until}.`,
        zh: `该账户${zh}的 ${limit} 费用限额已用完（已用 ${rounded(used)}），将于 ${until} 重新计算。`,
      };
}

/** The error for a model call above an exhausted limit. */
export function limitError(spent: SpentLimit): AppError {
  const { en, zh } = describeSpent(spent);
  const error = new AppError("quota", en, { message_zh: zh, recoverable: true });
  return withAdvice(error, {
    en: `Start a run without input after ${spent.resets_at} to go on, or ask the operator to raise MILLRACE_OWNER_LIMITS.`,
    zh: `请在 ${spent.resets_at} 之后发起一次不带输入的运行以继续，或请管理员提高 MILLRACE_OWNER_LIMITS。`,
  });
}
