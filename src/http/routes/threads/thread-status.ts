import { Hono } from "hono";
import { z } from "zod";
import { requireSession } from "@millrace/engine/sessions/sessions";
import { readActivity, SessionActivity } from "../../../sessions/overview/status.ts";
import { defaultModel } from "../../../sessions/overview/default-model.ts";
import { GraphStatus, readGraphStatus } from "@millrace/engine/sessions/state/graph-status";
import { describe } from "@millrace/engine/http/describe";
import type { HttpApp, HttpEnvironment } from "@millrace/engine/http/environment";
import { productServicesOf } from "../../product-services.ts";
import { respondJson } from "@millrace/engine/http/responses/wire";
import { withCallsOf } from "@millrace/engine/http/requests/thread";
import { Id, path } from "@millrace/engine/http/validate";

const ThreadPath = z.object({ thread_id: Id });
const StatusShape = SessionActivity.extend({ graph: GraphStatus }).meta({ ref: "ThreadActivity" });

/** `/threads/:id/status`: the thread's state for a chat window. */
export function threadStatusRoutes(): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  routes.get(
    "/threads/:thread_id/status",
    describe({
      tag: "Threads",
      summary: "What the thread is doing, and whether it takes a message or a stop",
      answer: StatusShape,
      errors: { 404: "No such thread" },
    }),
    path(ThreadPath),
    async (context) => {
      const services = productServicesOf(context);
      const session = await requireSession(services.storage, context.req.valid("param").thread_id);
      const shown = (values: unknown): Promise<unknown> => withCallsOf(session, values, services.graphs);
      const [activity, graph] = await Promise.all([
        readActivity(services, session, defaultModel(services), shown),
        readGraphStatus(services, session),
      ]);
      return respondJson(context, { ...activity, graph });
    },
  );
  return routes;
}
