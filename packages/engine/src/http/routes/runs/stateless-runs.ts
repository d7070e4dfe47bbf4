import { Hono } from "hono";
import { z } from "zod";
import { isAppError } from "../../../errors/errors.ts";
import type { CancelOptions } from "../../../runs/options.ts";
import { deleteSession, inSession, isDone, runsToCancel } from "../../../sessions/sessions.ts";
import type { Run } from "../../../storage/records.ts";
import { describe } from "../../describe.ts";
import {
  servicesOf,
  type HttpApp,
  type HttpContext,
  type HttpEnvironment,
  type HttpServices,
} from "../../environment.ts";
import { notFound } from "../../errors.ts";
import { respondJson } from "../../responses/wire.ts";
import { knownModes, namespacesInQuery } from "../../responses/frames.ts";
import { RunBody } from "../../requests/run-request.ts";
import { checkRun, lastEventId, startRun, streamRun, toWireRun, waitForRun } from "../../requests/runs.ts";
import { FinalValuesShape, RunShape } from "../../responses/shapes.ts";
import { Id, jsonBody, NamespaceQuery, path, query, QueryFlag, sessionIdOf, submissionOf } from "../../validate.ts";

const RunPath = z.object({ run_id: Id });
const JoinQuery = NamespaceQuery.extend({
  cancel_on_disconnect: QueryFlag.optional(),
  stream_mode: z.string().optional().describe("One mode, or several by commas"),
});
const tag = "Stateless runs";
const CancelMany = z
  .object({
    thread_id: Id.nullish(),
    run_ids: z.array(Id).max(1_000).nullish(),
    status: z.enum(["pending", "running", "all"]).nullish().describe("Only runs with this status; default all"),
  })
  .refine(({ thread_id, run_ids, status }) => Boolean(run_ids ? thread_id : (thread_id ?? status)), {
    error: "expected a thread_id, with or without run_ids, or a status",
  });
const notThere = { 404: "No such run or assistant" };
const starting = {
  headers: ["Idempotency-Key"],
  errors: {
    ...notThere,
    422: "The Idempotency-Key came with another request",
    429: "Too many runs wait; Retry-After says when to come back",
  },
} as const;

/** `/runs`: runs on a session of their own, deleted after the run unless `on_completion` is `keep`. */
export function statelessRunRoutes(): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  startingRoutes(routes);
  manyRoutes(routes);
  followingRoute(routes);
  return routes;
}

function startingRoutes(routes: HttpApp): void {
  routes.post(
    "/runs",
    describe({ tag, summary: "Start a run in the background", answer: RunShape, ...starting }),
    jsonBody(RunBody),
    async (context) => {
      const services = servicesOf(context);
      const run = await startAlone(services, context, context.req.valid("json"));
      context.header("Content-Location", locationOf(run));
      return respondJson(context, toWireRun(run));
    },
  );

  routes.post(
    "/runs/stream",
    describe({ tag, summary: "Start a run and follow it", events: true, ...starting }),
    query(NamespaceQuery),
    jsonBody(RunBody),
    async (context) => {
      const services = servicesOf(context);
      const body = context.req.valid("json");
      const run = await startAlone(services, context, body);
      return streamRun(services, context, run, {
        ids: false,
        namespaces: namespacesInQuery(context),
        headers: { "content-location": locationOf(run) },
        cancels: body.on_disconnect === "cancel",
      });
    },
  );

  routes.post(
    "/runs/wait",
    describe({ tag, summary: "Start a run and wait for its values", answer: FinalValuesShape, ...starting }),
    jsonBody(RunBody),
    async (context) => {
      const services = servicesOf(context);
      const body = context.req.valid("json");
      // Only the values are read, so these modes are enough whatever the body asks for.
      const run = await startAlone(services, context, { ...body, stream_mode: "values" });
      return waitForRun(services, context, run, {
        headers: { "content-location": locationOf(run) },
        hasBegun: context.req.header("idempotency-key") === undefined,
        cancels: body.on_disconnect === "cancel",
      });
    },
  );
}

function manyRoutes(routes: HttpApp): void {
  routes.post(
    "/runs/batch",
    describe({ tag, summary: "Start several runs in the background", answer: z.array(RunShape), ...starting }),
    jsonBody(z.array(RunBody).min(1).max(100)),
    async (context) => {
      const services = servicesOf(context);
      const started = await startAll(services, context, context.req.valid("json"));
      return respondJson(context, started.map(toWireRun));
    },
  );

  routes.post(
    "/runs/cancel",
    describe({
      tag,
      summary: "Stop several runs of a thread, or all that wait or work",
      empty: true,
      errors: { 404: "No such thread or run" },
    }),
    query(z.object({ action: z.enum(["interrupt", "rollback"]).default("interrupt") })),
    jsonBody(CancelMany),
    async (context) => {
      const services = servicesOf(context);
      const { thread_id, run_ids, status } = context.req.valid("json");
      const { action } = context.req.valid("query");
      const wanted = { session_id: thread_id ?? undefined, run_ids: run_ids ?? undefined, status: status ?? "all" };
      const runs = await runsToCancel(services, wanted);
      const how: CancelOptions = { action, wait: false, onlyPending: wanted.status === "pending" };
      // A cancel of all runs skips those the caller may not cancel.
      const found = await Promise.all(runs.map(({ run_id }) => isDone(stopIfMeant(services, run_id, how))));
      const isOfThread = wanted.session_id !== undefined && found.length > 0;
      if (isOfThread && !found.includes(true)) throw notFound("Run not found");
      return context.body(null, 204);
    },
  );
}

/** Stops a run, unless it is to be stopped only while it waits and has begun meanwhile. False for a run that is not found. */
async function stopIfMeant({ runs }: HttpServices, runId: string, how: CancelOptions): Promise<boolean> {
  try {
    return (await runs.cancel(runId, how)) !== undefined;
  } catch (error) {
    if (how.onlyPending === true && isAppError(error) && error.code === "conflict") return true;
    throw error;
  }
}

function followingRoute(routes: HttpApp): void {
  routes.get(
    "/runs/:run_id/stream",
    describe({
      tag,
      summary: "Follow a run, from Last-Event-ID on",
      events: true,
      headers: ["Last-Event-ID"],
      errors: notThere,
    }),
    path(RunPath),
    query(JoinQuery),
    async (context) => {
      const services = servicesOf(context);
      const run = await services.runs.get(context.req.valid("param").run_id);
      if (run === undefined) throw notFound("Run not found");
      return streamRun(services, context, run, {
        ids: true,
        after: lastEventId(context),
        modes: knownModes(context),
        namespaces: namespacesInQuery(context),
        headers: { "content-location": locationOf(run) },
        cancels: context.req.valid("query").cancel_on_disconnect ?? false,
      });
    },
  );
}

/** Starts a run on its own session; `place` distinguishes those of one batch, which share a key. */
async function startAlone(services: HttpServices, context: HttpContext, body: RunBody, place?: number): Promise<Run> {
  const stays = body.on_completion === "keep" || body.on_completion === "continue";
  const submission = submissionOf(context, body);
  const session_id = submission && sessionIdOf(submission, services.owner, place);
  return await inSession(services, { session_id }, (session) => startRun(services, context, session, body, !stays));
}

/** Starts all of them or none: after a refusal the client sends all again. */
async function startAll(services: HttpServices, context: HttpContext, bodies: readonly RunBody[]): Promise<Run[]> {
  for (const body of bodies) await checkRun(services, body);
  const started: Run[] = [];
  try {
    for (const [place, body] of bodies.entries()) started.push(await startAlone(services, context, body, place));
    return started;
  } catch (error) {
    // With a key, a repeated request finds runs already started, possibly long ago.
    if (context.req.header("idempotency-key") === undefined) {
      await Promise.all(started.map(({ session_id }) => isDone(deleteSession(services, session_id))));
    }
    throw error;
  }
}

function locationOf(run: Run): string {
  return `/runs/${run.run_id}`;
}
