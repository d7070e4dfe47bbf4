import { Hono } from "hono";
import { z } from "zod";
import { partialRequest } from "../../../sessions/overview/partial.ts";
import { requireSession } from "@millrace/engine/sessions/sessions";
import { describe } from "@millrace/engine/http/describe";
import {
  servicesOf,
  type HttpApp,
  type HttpContext,
  type HttpEnvironment,
  type HttpServices,
} from "@millrace/engine/http/environment";
import { respondJson } from "@millrace/engine/http/responses/wire";
import { RunBody } from "@millrace/engine/http/requests/run-request";
import { startRunFor, toWireRun } from "@millrace/engine/http/requests/runs";
import { RunShape } from "@millrace/engine/http/responses/shapes";
import { Id, jsonBody, path } from "@millrace/engine/http/validate";

const ThreadPath = z.object({ thread_id: Id });
/** Options a client may override from the last run. */
const PartialBody = RunBody.pick({
  context: true,
  metadata: true,
  stream_mode: true,
  stream_subgraphs: true,
  stream_resumable: true,
});

const tag = "Thread runs";
/** Sent twice without a key, the second finds no partial reply or a busy thread. */
const starting = {
  answer: RunShape,
  setsPositionHeader: true,
  headers: ["Idempotency-Key"],
  errors: {
    404: "No such thread",
    409: "The thread does not end with what a stop has left",
    422: "The thread is busy",
    429: "Too many runs wait; Retry-After says when to come back",
  },
} as const;

/** `/threads/:id/partial/…`: continues or regenerates a stopped reply. */
export function partialRoutes(): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();

  routes.post(
    "/threads/:thread_id/partial/continue",
    describe({ tag, summary: "Write on where a stop cut the reply off, in the background", ...starting }),
    path(ThreadPath),
    jsonBody(PartialBody),
    async (context) =>
      takeUp(servicesOf(context), context, {
        sessionId: context.req.valid("param").thread_id,
        partial: "continue",
        body: context.req.valid("json"),
      }),
  );

  routes.post(
    "/threads/:thread_id/partial/regenerate",
    describe({ tag, summary: "Give the reply that a stop cut off anew, in the background", ...starting }),
    path(ThreadPath),
    jsonBody(PartialBody),
    async (context) =>
      takeUp(servicesOf(context), context, {
        sessionId: context.req.valid("param").thread_id,
        partial: "regenerate",
        body: context.req.valid("json"),
      }),
  );
  return routes;
}

async function takeUp(
  services: HttpServices,
  context: HttpContext,
  request: { sessionId: string; partial: "continue" | "regenerate"; body: z.infer<typeof PartialBody> },
): Promise<Response> {
  const session = await requireSession(services.storage, request.sessionId);
  const { partial, body } = request;
  const run = await startRunFor(services, context, session, {
    sent: { partial, ...body },
    body: async () => {
      const { assistant_id, context: known } = await partialRequest(services, session, partial);
      return { ...body, assistant_id, input: { messages: [] }, context: { ...known, ...body.context, partial } };
    },
  });
  context.header("Content-Location", `/threads/${run.session_id}/runs/${run.run_id}`);
  return respondJson(context, toWireRun(run));
}
