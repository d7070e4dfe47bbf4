import { Hono } from "hono";
import { z } from "zod";
import { parentSessionKey } from "../../../runs/remote-stops.ts";
import { isOver } from "../../../runs/status.ts";
import type { ListedRun } from "../../../storage/overview.ts";
import { RunStatus } from "../../../storage/records.ts";
import { Usage } from "../../../storage/usage.ts";
import { respondJson } from "../../responses/wire.ts";
import { RunShape } from "../../responses/shapes.ts";
import { describe } from "../../describe.ts";
import { servicesOf, type HttpApp, type HttpEnvironment } from "../../environment.ts";
import { toWireRun } from "../../requests/runs.ts";
import { Id, query } from "../../validate.ts";

const When = z.iso
  .datetime({ offset: true })
  .transform((text) => new Date(text).toISOString())
  .optional();
const RunFilter = z.object({
  run_id: Id.optional(),
  status: RunStatus.optional(),
  graph_id: z.string().max(500).optional(),
  assistant_id: z.string().max(500).optional(),
  thread_id: Id.optional(),
  cron_id: Id.optional(),
  from: When.describe("Created at this time or later"),
  to: When.describe("Created before this time"),
  error: z.string().max(200).optional().describe("The code, or the kind, of the error that ended it"),
});
const ListQuery = RunFilter.extend({
  limit: z.coerce.number().int().min(1).max(1_000).default(50),
  cursor: z.string().max(200).optional().describe("X-Pagination-Next of the page before"),
});
const HistogramQuery = RunFilter.extend({
  bucket: z.enum(["minute", "hour", "day"]).default("hour").describe("The length of the spans, in UTC"),
});
const seconds = { minute: 60, hour: 3600, day: 86_400 } as const;

const StartedBy = z.object({
  kind: z.enum(["client", "cron", "agent"]),
  id: z.string().nullable().describe("Of the cron, or of the thread whose agent it is; the user who asked for it"),
});
const RunSummaryShape = RunShape.omit({ kwargs: true })
  .extend({
    graph_id: z.string(),
    queued_at: z.string(),
    started_at: z.string().nullable(),
    ended_at: z.string().nullable(),
    attempts: z.number().int(),
    error_code: z.string().nullable(),
    usage: Usage.nullable().describe(
      "What its model calls have used so far; the cost is 0 where no price is known. Null where no model was asked",
    ),
    started_by: StartedBy,
    parent: z.string().nullable().describe("The thread that it works for, of an agent in the background"),
  })
  .meta({ ref: "RunSummary" });
const CountShape = z.object({
  at: z.string().describe("When the span begins"),
  status: RunStatus,
  count: z.number().int(),
});
const tag = "Thread runs";

/** `/runs` and `/runs/histogram`: the runs of all threads. */
export function allRunRoutes(): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  routes.get(
    "/runs",
    describe({
      tag,
      summary: "The runs of all threads, newest first, without kwargs",
      answer: z.array(RunSummaryShape),
    }),
    query(ListQuery),
    async (context) => {
      const { thread_id: session_id, ...filter } = context.req.valid("query");
      const { rows, next } = await servicesOf(context).overview.runs({ ...filter, session_id });
      if (next !== null) context.header("X-Pagination-Next", next);
      return respondJson(context, rows.map(toSummary));
    },
  );
  routes.get(
    "/runs/histogram",
    describe({ tag, summary: "How many runs were created when, by status", answer: z.array(CountShape) }),
    query(HistogramQuery),
    async (context) => {
      const { thread_id: session_id, bucket, ...filter } = context.req.valid("query");
      const { overview } = servicesOf(context);
      return respondJson(context, await overview.histogram({ ...filter, session_id, seconds: seconds[bucket] }));
    },
  );
  return routes;
}

function toSummary(run: ListedRun): object {
  const { kwargs: _kwargs, ...wire } = { kwargs: null, ...toWireRun(run) };
  const { cron_id, [parentSessionKey]: parent } = run.metadata;
  return {
    ...wire,
    graph_id: run.graph_id,
    queued_at: run.created_at,
    started_at: run.started_at ?? null,
    ended_at: isOver(run.status) ? run.updated_at : null,
    attempts: run.attempt,
    error_code: run.error?.error ?? null,
    usage: run.usage,
    started_by: startedBy(run.kwargs.owner, cron_id, parent),
    parent: typeof parent === "string" ? parent : null,
  } satisfies Omit<z.infer<typeof RunSummaryShape>, keyof Omit<z.infer<typeof RunShape>, "kwargs">>;
}

function startedBy(owner: string | undefined, cron: unknown, parent: unknown): z.infer<typeof StartedBy> {
  if (typeof cron === "string") return { kind: "cron", id: cron };
  if (typeof parent === "string") return { kind: "agent", id: parent };
  return { kind: "client", id: owner ?? null };
}
