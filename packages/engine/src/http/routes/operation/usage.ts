import { Hono } from "hono";
import { z } from "zod";
import { limitsOf, type UsageLimits } from "../../../config/owner-limits.ts";
import { type ModelUsage, Usage } from "../../../storage/usage.ts";
import { amountOf, dayOf, endOf, monthOf, type Period } from "../../../usage/owner-usage.ts";
import { toCsv } from "../../responses/csv.ts";
import { answerBody, respondJson, pageHeaders } from "../../responses/wire.ts";
import { describe } from "../../describe.ts";
import { servicesOf, type HttpApp, type HttpEnvironment, type SharedServices } from "../../environment.ts";
import { query } from "../../validate.ts";

const name = "The owner of a key, or `user:` and the identity of a user of `auth.path`";
const Sums = Usage.extend({
  total_tokens: z.number(),
  cost: z.number().describe("In the currency of the models' prices; calls of models without a known price count 0"),
});
const Left = z.object({
  tokens: z.number().nullable().describe("null without a limit"),
  cost: z.number().nullable(),
});
const PeriodShape = Sums.extend({
  resets_at: z.string().describe("When it begins anew"),
  limits: Left,
  left: Left.describe("What may still be used; no model is asked when one of them is 0"),
});
const OwnerName = z.string().nullable().describe(`${name}; null where no key is asked for`);
const UsageShape = z
  .object({
    owner: OwnerName,
    day: PeriodShape.describe("Today, by UTC"),
    month: PeriodShape,
    days: z.array(Sums.extend({ day: z.string() })).describe("Each day of the month with model calls, oldest first"),
  })
  .meta({ ref: "Usage" });
const OwnersShape = z.array(Sums.extend({ owner: OwnerName })).meta({ ref: "UsageOfOwners" });

const UsageQuery = z.object({
  owner: z.string().max(300).optional().describe(`${name}; another one than the caller's own needs a key of admin`),
});
const OwnersQuery = z.object({
  from: z.iso.date().optional().describe("The first day; default the first of this month, by UTC"),
  to: z.iso.date().optional().describe("The last day; default today"),
  limit: z.coerce.number().int().min(1).max(1000).default(100),
  offset: z.coerce.number().int().min(0).default(0),
});

const maxDays = 400;
const milliseconds = z.number().nullable();
const ModelDay = Sums.extend({
  day: z.string(),
  model: z.string().describe("`provider:model`; empty where a graph's own model has not told its name"),
  requests: z.number().int().describe("Those that were answered"),
  failed: z.number().int().describe("Those that were not, each try of its own; a stop is no failure"),
  mean_duration_ms: milliseconds.describe("Of those that were answered"),
  mean_first_token_ms: milliseconds.describe("Until the first words; null where they did not come piece by piece"),
});
const ModelsShape = z.array(ModelDay).meta({ ref: "UsageOfModels" });
const ModelsQuery = z
  .object({
    from: z.iso.date().optional().describe("The first day; default the 29th day before the last"),
    to: z.iso.date().optional().describe("The last day; default today, by UTC"),
    owner: z.string().max(300).optional().describe(`${name}; default all whom the caller may see`),
    format: z.enum(["json", "csv"]).default("json"),
  })
  .transform(({ to = dayOf(Date.now()), from = daysBefore(to, 29), ...rest }) => ({ from, to, ...rest }))
  .refine(({ from, to }) => daysBefore(to, maxDays) < from, { error: `expected at most ${maxDays} days` });

function daysBefore(day: string, count: number): string {
  return dayOf(Date.parse(day) - count * 86_400_000);
}

/** `/usage`: model usage over all threads by owner, model and day, and what remains of owners' limits. */
export function usageRoutes({ config }: SharedServices): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  const tag = "Meta";

  routes.get(
    "/usage",
    describe({
      tag,
      summary: "What the caller's model calls have used today and this month, and what is left",
      answer: UsageShape,
      errors: { 403: "Another owner's usage is for a key of admin" },
    }),
    query(UsageQuery),
    async (context) => {
      const time = Date.now();
      const { owner, day, month, days } = await servicesOf(context).usage.now(context.req.valid("query").owner, time);
      const limits = limitsOf(config.ownerLimits, owner);
      const answer: z.infer<typeof UsageShape> = {
        owner: owner || null,
        day: periodOf("day", day, limits, time),
        month: periodOf("month", month, limits, time),
        days: days.map((one) => ({ day: one.day, ...sumsOf(one) })),
      };
      return respondJson(context, answer);
    },
  );

  routes.get(
    "/usage/owners",
    describe({
      tag,
      summary: "What the model calls of each owner have used in some days; for admin of all, else the caller's own",
      answer: OwnersShape,
    }),
    query(OwnersQuery),
    async (context) => {
      const today = dayOf(Date.now());
      const { from = monthOf(today).from, to = today, ...page } = context.req.valid("query");
      const { owners, total } = await servicesOf(context).usage.owners({ from, to }, page);
      const rows = owners.map((one) => ({ owner: one.owner || null, ...sumsOf(one) }));
      pageHeaders(context, { offset: page.offset, total, count: rows.length });
      return respondJson(context, rows);
    },
  );

  modelRoute(routes);
  return routes;
}

function modelRoute(routes: HttpApp): void {
  routes.get(
    "/usage/models",
    describe({
      tag: "Meta",
      summary: "How the model calls of each model went on each day; for admin of all, else the caller's own",
      answer: ModelsShape,
      texts: ["text/csv"],
      errors: { 403: "Another owner's usage is for a key of admin" },
    }),
    query(ModelsQuery),
    async (context) => {
      const { owner, format, ...days } = context.req.valid("query");
      const rows = (await servicesOf(context).usage.models(days, owner)).map(modelDay);
      if (format === "json") return respondJson(context, rows);
      return answerBody(context, toCsv(modelColumns, rows), "text/csv; charset=utf-8");
    },
  );
}

const modelColumns = [
  "day",
  "model",
  "requests",
  "failed",
  "input_tokens",
  "output_tokens",
  "total_tokens",
  "cached_tokens",
  "cost",
  "mean_duration_ms",
  "mean_first_token_ms",
] as const;

function modelDay(row: ModelUsage & { day: string; model: string }): z.infer<typeof ModelDay> {
  const { day, model, failed, duration_ms, first_token_ms, first_tokens } = row;
  const mean = (sum: number, of: number): number | null => (of === 0 ? null : Math.round(sum / of));
  return {
    day,
    model,
    failed,
    ...sumsOf(row),
    mean_duration_ms: mean(duration_ms, row.requests),
    mean_first_token_ms: mean(first_token_ms, first_tokens),
  };
}

function sumsOf({ requests, input_tokens, output_tokens, cached_tokens, cost }: Usage): z.infer<typeof Sums> {
  const total_tokens = input_tokens + output_tokens;
  return { requests, input_tokens, output_tokens, total_tokens, cached_tokens, cost };
}

function periodOf(period: Period, used: Usage, limits: UsageLimits, time: number): z.infer<typeof PeriodShape> {
  const own = { tokens: limits[`tokens_per_${period}`] ?? null, cost: limits[`cost_per_${period}`] ?? null };
  const leftOf = (of: "tokens" | "cost"): number | null => {
    const limit = own[of];
    return limit === null ? null : Math.max(0, limit - amountOf(used, of));
  };
  return {
    ...sumsOf(used),
    resets_at: endOf(period, time),
    limits: own,
    left: { tokens: leftOf("tokens"), cost: leftOf("cost") },
  };
}
