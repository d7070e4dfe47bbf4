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
import { Id, jsonBody, path } from "../validate.ts";

const RunPath = z.object({ run_id: Id });
const tag = "Stateless runs";
const errors = { 404: "No such run or assistant", 429: "Too many runs wait; Retry-After says when to come back" };

/** `/runs`: runs on a session of their own, which goes when the run is over unless `on_completion` is `keep`. */
export function statelessRunRoutes(services: HttpServices): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();

  routes.post(
    "/runs",
    describe({ tag, summary: "Start a run in the background", answer: RunShape, errors }),
    jsonBody(RunBody),
    async (context) => {
      const run = await startAlone(services, context, context.req.valid("json"));
      context.header("Content-Location", locationOf(run));
      return answerJson(context, toWireRun(run));
    },
  );

  routes.post(
    "/runs/stream",
    describe({ tag, summary: "Start a run and follow it", events: true, errors }),
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
    describe({ tag, summary: "Start a run and wait for its values", answer: FinalValuesShape, errors }),
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

  routes.get(
    "/runs/:run_id/stream",
    describe({ tag, summary: "Follow a run, from Last-Event-ID on", events: true, errors }),
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
  return routes;
}

async function startAlone(services: HttpServices, context: HttpContext, body: RunBody): Promise<Run> {
  const { storage } = services;
  const stays = body.on_completion === "keep" || body.on_completion === "continue";
  const session = await createSession(storage, {});
  try {
    return await startRun(services, context, session, body, !stays);
  } catch (error) {
    await storage.sessions.delete(session.session_id);
    throw error;
  }
}

function locationOf(run: Run): string {
  return `/runs/${run.run_id}`;
}
