import { Hono } from "hono";
import { z } from "zod";
import { inSession, requireSession } from "../../../sessions/sessions.ts";
import { RunStatus, type Run } from "../../../storage/records.ts";
import { describe } from "../../describe.ts";
import {
  servicesOf,
  type HttpApp,
  type HttpContext,
  type HttpEnvironment,
  type HttpServices,
} from "../../environment.ts";
import { notFound } from "../../errors.ts";
import { respondJson, selected } from "../../responses/wire.ts";
import { knownModes, namesInQuery, namespacesInQuery } from "../../responses/frames.ts";
import { RunBody } from "../../requests/run-request.ts";
import { lastEventId, startRun, streamRun, setPositionHeader, toWireRun, waitForRun } from "../../requests/runs.ts";
import { FinalValuesShape, RunShape } from "../../responses/shapes.ts";
import { Id, jsonBody, NamespaceQuery, path, query, QueryFlag } from "../../validate.ts";

const ThreadPath = z.object({ thread_id: Id });
const RunPath = ThreadPath.extend({ run_id: Id });
const ListQuery = z.object({
  limit: z.coerce.number().int().min(1).max(1_000).default(10),
  offset: z.coerce.number().int().min(0).default(0),
  status: RunStatus.optional(),
  select: z.string().optional().describe("Names of fields; may be repeated, or hold several by commas"),
});
const CancelQuery = z
  .object({
    wait: QueryFlag.optional(),
    action: z.enum(["interrupt", "rollback"]).default("interrupt"),
    reason: z.string().max(2_000).optional().describe("Why; the run's cancel_reason"),
    queue: z.enum(["keep", "clear"]).default("keep").describe("clear: the runs that wait behind it are cancelled too"),
    status: z.literal("pending").optional().describe("Only while the run waits: 409 when it does not any more"),
  })
  .refine(({ queue, status }) => queue === "keep" || status === undefined, {
    error: "queue=clear goes only without a status",
  });
const JoinQuery = z.object({ cancel_on_disconnect: QueryFlag.optional() });
const JoinStreamQuery = JoinQuery.extend({
  stream_mode: z.string().optional().describe("One mode, or several by commas"),
  namespace: NamespaceQuery.shape.namespace,
});
const tag = "Thread runs";
const notThere = { 404: "No such thread, run or assistant" };
const starting = {
  headers: ["Idempotency-Key"],
  setsPositionHeader: true,
  errors: {
    ...notThere,
    422: "The thread is busy and the strategy is reject, or the Idempotency-Key came with another request",
    429: "Too many runs wait; Retry-After says when to come back",
  },
} as const;

/** `/threads/:id/runs`: runs of a session, started, followed, awaited, listed, cancelled and deleted. */
export function threadRunRoutes(): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  startingRoutes(routes);
  readingRoutes(routes);
  joiningRoutes(routes);
  return routes;
}

function startingRoutes(routes: HttpApp): void {
  routes.post(
    "/threads/:thread_id/runs",
    describe({ tag, summary: "Start a run in the background", answer: RunShape, ...starting }),
    path(ThreadPath),
    jsonBody(RunBody),
    async (context) => {
      const services = servicesOf(context);
      const body = context.req.valid("json");
      const run = await startOn(services, context, context.req.valid("param").thread_id, body);
      context.header("Content-Location", streamHeaders(run)["content-location"]);
      return respondJson(context, toWireRun(run));
    },
  );

  routes.post(
    "/threads/:thread_id/runs/stream",
    describe({ tag, summary: "Start a run and follow it", events: true, ...starting }),
    path(ThreadPath),
    query(NamespaceQuery),
    jsonBody(RunBody),
    async (context) => {
      const services = servicesOf(context);
      const body = context.req.valid("json");
      const run = await startOn(services, context, context.req.valid("param").thread_id, body);
      const cancels = body.on_disconnect === "cancel";
      return streamRun(services, context, run, {
        ids: true,
        namespaces: namespacesInQuery(context),
        headers: streamHeaders(run, cancels),
        cancels,
      });
    },
  );

  routes.post(
    "/threads/:thread_id/runs/wait",
    describe({ tag, summary: "Start a run and wait for its values", answer: FinalValuesShape, ...starting }),
    path(ThreadPath),
    jsonBody(RunBody),
    async (context) => {
      const services = servicesOf(context);
      const body = context.req.valid("json");
      const { thread_id } = context.req.valid("param");
      // Only the values are read, so these modes are enough whatever the body asks for.
      const run = await startOn(services, context, thread_id, { ...body, stream_mode: "values" });
      return waitForRun(services, context, run, {
        headers: { "content-location": streamHeaders(run)["content-location"] },
        hasBegun: context.req.header("idempotency-key") === undefined,
        cancels: body.on_disconnect === "cancel",
      });
    },
  );
}

function readingRoutes(routes: HttpApp): void {
  routes.get(
    "/threads/:thread_id/runs",
    describe({ tag, summary: "List runs, newest first", answer: z.array(RunShape), errors: notThere }),
    path(ThreadPath),
    query(ListQuery),
    async (context) => {
      const { storage, runs } = servicesOf(context);
      const { limit, offset, status } = context.req.valid("query");
      const session = await requireSession(storage, context.req.valid("param").thread_id);
      const found = await runs.list(session.session_id, { limit, offset, ...(status && { status }) });
      const fields = namesInQuery(context, "select");
      const answer = found.map((run) => selected(toWireRun(run), fields));
      return respondJson(context, answer);
    },
  );

  routes.get(
    "/threads/:thread_id/runs/:run_id",
    describe({ tag, summary: "Get a run", answer: RunShape, setsPositionHeader: true, errors: notThere }),
    path(RunPath),
    async (context) => {
      const services = servicesOf(context);
      const run = await requireRun(services, context.req.valid("param"));
      await setPositionHeader(services, context, run);
      return respondJson(context, { ...toWireRun(run), ...(await services.runs.waitReason(run)) });
    },
  );

  routes.delete(
    "/threads/:thread_id/runs/:run_id",
    describe({ tag, summary: "Stop a run and delete it with its checkpoints", empty: true, errors: notThere }),
    path(RunPath),
    async (context) => {
      const services = servicesOf(context);
      const run = await requireRun(services, context.req.valid("param"));
      if (!(await services.runs.delete(run.run_id))) throw notFound("Run not found");
      return context.body(null, 204);
    },
  );

  routes.post(
    "/threads/:thread_id/runs/:run_id/cancel",
    describe({
      tag,
      summary: "Stop a run: 202, or 204 when it was waited for",
      empty: true,
      bodiless: { 202: "It was told to stop" },
      errors: { ...notThere, 409: "status is pending, and the run has begun, is over or is being cancelled" },
    }),
    path(RunPath),
    query(CancelQuery),
    async (context) => {
      const services = servicesOf(context);
      const { wait = false, action, reason: said, queue, status } = context.req.valid("query");
      const run = await requireRun(services, context.req.valid("param"));
      const how = { clearQueue: queue === "clear", onlyPending: status === "pending" };
      const stopped = await services.runs.cancel(run.run_id, { action, said, wait, ...how });
      if (stopped === undefined) throw notFound("Run not found");
      return context.body(null, wait ? 204 : 202);
    },
  );
}

function joiningRoutes(routes: HttpApp): void {
  routes.get(
    "/threads/:thread_id/runs/:run_id/join",
    describe({ tag, summary: "Wait for a run's values", answer: FinalValuesShape, errors: notThere }),
    path(RunPath),
    query(JoinQuery),
    async (context) => {
      const services = servicesOf(context);
      const run = await requireRun(services, context.req.valid("param"));
      return waitForRun(services, context, run, {
        headers: { "content-location": streamHeaders(run)["content-location"] },
        cancels: context.req.valid("query").cancel_on_disconnect ?? false,
      });
    },
  );

  routes.get(
    "/threads/:thread_id/runs/:run_id/stream",
    describe({
      tag,
      summary: "Follow a run, from Last-Event-ID on",
      events: true,
      headers: ["Last-Event-ID"],
      errors: notThere,
    }),
    path(RunPath),
    query(JoinStreamQuery),
    async (context) => {
      const services = servicesOf(context);
      const { cancel_on_disconnect = false } = context.req.valid("query");
      const run = await requireRun(services, context.req.valid("param"));
      return streamRun(services, context, run, {
        ids: true,
        after: lastEventId(context),
        modes: knownModes(context),
        namespaces: namespacesInQuery(context),
        headers: streamHeaders(run),
        cancels: cancel_on_disconnect,
      });
    },
  );
}

/** Starts a run on a thread; a missing one is 404, or is created if the body says so. */
async function startOn(services: HttpServices, context: HttpContext, sessionId: string, body: RunBody): Promise<Run> {
  return body.if_not_exists === "create"
    ? await inSession(services, { session_id: sessionId }, (session) => startRun(services, context, session, body))
    : await startRun(services, context, await requireSession(services.storage, sessionId), body);
}

async function requireRun({ runs }: HttpServices, ids: { thread_id: string; run_id: string }): Promise<Run> {
  const run = await runs.get(ids.run_id);
  if (run === undefined || run.session_id !== ids.thread_id) throw notFound("Run not found");
  return run;
}

/**
 * `Location` lets the SDK reconnect by itself: a run's end is written before its stream closes. A client that asked to
 * cancel on disconnect asks the same of the stream that continues after a break.
 */
function streamHeaders(run: Run, cancels = false) {
  const query = cancels ? "?cancel_on_disconnect=1" : "";
  const location = `/threads/${run.session_id}/runs/${run.run_id}`;
  return { "content-location": location, location: `${location}/stream${query}` };
}
