import { Hono } from "hono";
import { z } from "zod";
import { requireSession } from "../../sessions/sessions.ts";
import { readActivity, SessionActivity } from "../../sessions/status.ts";
import { usualModel } from "../../sessions/usual-model.ts";
import { describe } from "../describe.ts";
import type { HttpApp, HttpEnvironment } from "../environment.ts";
import { productServicesOf } from "../product-services.ts";
import { answerJson } from "../json.ts";
import { Id, path } from "../validate.ts";

const ThreadPath = z.object({ thread_id: Id });
const StatusShape = SessionActivity.meta({ ref: "ThreadActivity" });

/** `/threads/:id/status`: what the thread is doing, as a chat window needs it. */
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
      return answerJson(context, await readActivity(services, session, usualModel(services)));
    },
  );
  return routes;
}
