import { Hono } from "hono";
import { z } from "zod";
import { createSession } from "../../sessions/sessions.ts";
import type { Run } from "../../storage/records.ts";
import { describe } from "../describe.ts";
import type { HttpApp, HttpContext, HttpEnvironment, HttpServices } from "../environment.ts";
import { notFound } from "../errors.ts";
import { answerJson } from "../json.ts";
import { RunBody } from "../run-request.ts";
import { lastEventId, startRun, streamRun, toWireRun, waitForRun } from "../runs.ts";
import { FinalValuesShape, RunShape } from "../shapes.ts";
import { sessionIdOf, submissionOf } from "../submission.ts";
import { Id, jsonBody, path } from "../validate.ts";

const RunPath = z.object({ run_id: Id });
const tag = "Stateless runs";
const notThere = { 404: "No such run or assistant" };
const starting = {
  headers: ["Idempotency-Key"],
  errors: {
    ...notThere,
    422: "The Idempotency-Key came with another request",
    429: "Too many runs wait; Retry-After says when to come back",
  },
} as const;

/** `/runs`: runs on a session of their own, which goes when the run is over unless `on_completion` is `keep`. */
export function statelessRunRoutes(services: HttpServices): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  startingRoutes(routes, services);
  followingRoute(routes, services);
  return routes;
}

function startingRoutes(routes: HttpApp, services: HttpServices): void {
  routes.post(
    "/runs",
    describe({ tag, summary: "Start a run in the background", answer: RunShape, ...starting }),
    jsonBody(RunBody),
    async (context) => {
      const run = await startAlone(services, context, context.req.valid("json"));
      context.header("Content-Location", locationOf(run));
      return answerJson(context, toWireRun(run));
    },
  );

  routes.post(
    "/runs/stream",
    describe({ tag, summary: "Start a run and follow it", events: true, ...starting }),
    jsonBody(RunBody),
    async (context) => {
      const body = context.req.valid("json");
      const run = await startAlone(services, context, body);
      return streamRun(services, context, run, {
        ids: false,
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
      const body = context.req.valid("json");
      // Nobody follows the run but for its values, so whatever modes are asked for, these are enough.
      const run = await startAlone(services, context, { ...body, stream_mode: "values" });
      return waitForRun(services, context, run, {
        headers: { "content-location": locationOf(run) },
        cancels: body.on_disconnect === "cancel",
      });
    },
  );
}

function followingRoute(routes: HttpApp, services: HttpServices): void {
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
    async (context) => {
      const run = await services.runs.get(context.req.valid("param").run_id);
      if (run === undefined) throw notFound("Run not found");
      return streamRun(services, context, run, {
        ids: true,
        after: lastEventId(context),
        headers: { "content-location": locationOf(run) },
      });
    },
  );
}

async function startAlone(services: HttpServices, context: HttpContext, body: RunBody): Promise<Run> {
  const { storage, runs, owner } = services;
  const stays = body.on_completion === "keep" || body.on_completion === "continue";
  const submission = submissionOf(context, body);
  const session = await createSession(storage, {
    ...(submission && { session_id: sessionIdOf(submission, owner), if_exists: "do_nothing" }),
  });
  try {
    return await startRun(services, context, session, body, !stays);
  } catch (error) {
    // Under a key that came before, the session is that of the run of that time.
    const others = await runs.list(session.session_id, { limit: 1, offset: 0 });
    if (others.length === 0) await storage.sessions.delete(session.session_id);
    throw error;
  }
}

function locationOf(run: Run): string {
  return `/runs/${run.run_id}`;
}
