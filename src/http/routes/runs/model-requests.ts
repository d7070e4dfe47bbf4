import { Hono } from "hono";
import { z } from "zod";
import { respondJson } from "@millrace/engine/http/responses/wire";
import { describe } from "@millrace/engine/http/describe";
import type { HttpApp, HttpContext, HttpEnvironment } from "@millrace/engine/http/environment";
import { notFound } from "@millrace/engine/http/errors";
import { Id, path } from "@millrace/engine/http/validate";
import { ModelCallDetails, ModelCallSummary, readModelCall } from "../../../sessions/overview/model-calls.ts";
import { productServicesOf } from "../../product-services.ts";

const RunPath = z.object({ thread_id: Id, run_id: Id });
const RequestPath = RunPath.extend({ number: z.coerce.number().int().min(1).max(1_000_000_000) });
const ListShape = z.array(ModelCallSummary.meta({ ref: "ModelCall" }));
const DetailsShape = ModelCallDetails.meta({ ref: "ModelCallDetails" });
const tag = "Thread runs";

/** `/threads/:id/runs/:id/requests`: a run's model requests, call by call. */
export function modelRequestRoutes(): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();

  routes.get(
    "/threads/:thread_id/runs/:run_id/requests",
    describe({
      tag,
      summary: "The requests to models that are kept of a run, newest first",
      answer: ListShape,
      errors: { 404: "No such thread or run" },
    }),
    path(RunPath),
    async (context) => {
      const { thread_id, run_id } = context.req.valid("param");
      await requireRun(context, thread_id, run_id);
      return respondJson(context, await productServicesOf(context).storage.requests.calls(thread_id, run_id));
    },
  );

  routes.get(
    "/threads/:thread_id/runs/:run_id/requests/:number",
    describe({
      tag,
      summary: "What a model was sent, byte for byte, and what differs from the request before",
      answer: DetailsShape,
      errors: { 404: "No such thread, run or request, or it is not kept any more" },
    }),
    path(RequestPath),
    async (context) => {
      const { thread_id, run_id, number } = context.req.valid("param");
      await requireRun(context, thread_id, run_id);
      const found = await readModelCall(productServicesOf(context), thread_id, { run_id, number });
      if (found === undefined) throw notFound("Request not found");
      return respondJson(context, found);
    },
  );
  return routes;
}

async function requireRun(context: HttpContext, threadId: string, runId: string): Promise<void> {
  const run = await productServicesOf(context).runs.get(runId);
  if (run?.session_id !== threadId) throw notFound("Run not found");
}
