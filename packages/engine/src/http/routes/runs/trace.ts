import { Hono } from "hono";
import { z } from "zod";
import { Span } from "../../../runs/trace/span.ts";
import { RunStatus, type Run } from "../../../storage/records.ts";
import { respondBytes } from "../../responses/bytes.ts";
import { toWireJson, respondJson } from "../../responses/wire.ts";
import { newsFrame } from "../../responses/news.ts";
import { sendEvents } from "../../responses/sse.ts";
import { describe } from "../../describe.ts";
import { servicesOf, type HttpApp, type HttpContext, type HttpEnvironment } from "../../environment.ts";
import { notFound } from "../../errors.ts";
import { lastEventId } from "../../requests/runs.ts";
import { Id, path, query } from "../../validate.ts";

const RunPath = z.object({ thread_id: Id, run_id: Id });
const PayloadPath = RunPath.extend({ span_id: z.string().min(1).max(500) });
const Count = z.coerce.number().int().min(0);
const TraceQuery = z.object({
  since: Count.optional().describe("`seq` of an answer before: only what has begun or changed after it"),
  parent: z.string().max(500).optional().describe("Only what is below this span"),
  depth: Count.max(1_000).optional().describe("So many levels below `parent`, or below the run itself"),
  limit: z.coerce.number().int().min(1).max(1_000).default(1_000),
  cursor: Count.default(0).describe("X-Pagination-Next of the page before"),
});
const TraceShape = z
  .object({
    run_id: z.string(),
    thread_id: z.string(),
    status: RunStatus,
    seq: z.number().int().describe("The newest event that is in it; -1 before the first"),
    spans: z.array(Span).describe("In the order in which they began, the run itself first"),
    is_log_complete: z.boolean().describe("false: the log of the run is gone, and less is known"),
    is_cut: z.boolean().describe("true: the run has more spans than are told"),
  })
  .meta({ ref: "Trace" });
const tag = "Thread runs";
const notThere = { 404: "No such thread or run" };
const payload = {
  tag,
  answer: z.unknown(),
  errors: { 404: "No such thread, run or span, or that is not kept", 416: "It has no such bytes" },
  bodiless: { 206: "The bytes that Range asked for" },
} as const;

/** `/threads/:id/runs/:id/trace`: a run's steps with their times and durations. */
export function traceRoutes(): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();

  routes.get(
    "/threads/:thread_id/runs/:run_id/trace",
    describe({
      tag,
      summary: "Its steps, nodes, model calls and tool calls with their times; as they come for text/event-stream",
      answer: TraceShape,
      texts: ["text/event-stream"],
      headers: ["Last-Event-ID"],
      errors: notThere,
    }),
    path(RunPath),
    query(TraceQuery),
    async (context) => {
      const run = await runOf(context, context.req.valid("param"));
      const wanted = context.req.valid("query");
      if (/\btext\/event-stream\b/iu.test(context.req.header("accept") ?? ""))
        return follow(context, run, wanted.since);
      const { traces } = servicesOf(context).runs;
      const { next, ...page } = await traces.read(run, wanted, context.req.raw.signal);
      if (next !== null) context.header("X-Pagination-Next", String(next));
      const { run_id, session_id: thread_id, status } = run;
      return respondJson(context, { run_id, thread_id, status, ...page } satisfies z.infer<typeof TraceShape>);
    },
  );

  routes.get(
    "/threads/:thread_id/runs/:run_id/trace/:span_id/input",
    describe({ summary: "What went into a span, as JSON; a part of it for a Range", ...payload }),
    path(PayloadPath),
    (context) => answerPayload(context, context.req.valid("param"), "input"),
  );

  routes.get(
    "/threads/:thread_id/runs/:run_id/trace/:span_id/output",
    describe({ summary: "What came out of a span, as JSON; a part of it for a Range", ...payload }),
    path(PayloadPath),
    (context) => answerPayload(context, context.req.valid("param"), "output"),
  );

  return routes;
}

async function answerPayload(
  context: HttpContext,
  { span_id, ...ids }: z.infer<typeof PayloadPath>,
  side: "input" | "output",
): Promise<Response> {
  const run = await runOf(context, ids);
  const found = await servicesOf(context).runs.traces.payload(run, span_id, side, context.req.raw.signal);
  if (found === undefined) throw notFound("Nothing is kept of this span");
  return respondBytes(context, Buffer.from(toWireJson(found.value)), { "content-type": "application/json" });
}

async function runOf(context: HttpContext, { thread_id, run_id }: z.infer<typeof RunPath>): Promise<Run> {
  const run = await servicesOf(context).runs.get(run_id);
  if (run?.session_id !== thread_id) throw notFound("Run not found");
  return run;
}

/** Each span when it starts and whenever it changes, until the run ends. */
function follow(context: HttpContext, run: Run, since: number | undefined): Response {
  const { runs, logger } = servicesOf(context);
  const after = Math.max(lastEventId(context), since ?? -1);
  const frame = (span: Span): string =>
    `${span.seq < 0 ? "" : `id: ${span.seq}\n`}${newsFrame({ type: "span", ...span })}`;
  return sendEvents(context, {
    mayBeQuiet: true,
    open: (signal) => runs.traces.follow(run, after, signal),
    tail: (signal) => runs.traces.follow(run, Number.MAX_SAFE_INTEGER, signal),
    measure: (span) => frame(span).length,
    frame,
    headers: { "content-location": `/threads/${run.session_id}/runs/${run.run_id}/trace` },
    logger,
  });
}
