import { Hono } from "hono";
import { z } from "zod";
import { readContext, SessionContext } from "../../../sessions/overview/context-snapshot.ts";
import { requireSession } from "@millrace/engine/sessions/sessions";
import { describe } from "@millrace/engine/http/describe";
import type { HttpApp, HttpEnvironment } from "@millrace/engine/http/environment";
import { productServicesOf } from "../../product-services.ts";
import { answerJson } from "@millrace/engine/http/answers/wire";
import { Id, path, query } from "@millrace/engine/http/validate";

const ThreadPath = z.object({ thread_id: Id });
const Which = z.object({
  call: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .describe("The node whose last call is wanted, also one that speaks to nobody, such as `compress` or `plan`"),
});
const ContextShape = SessionContext.meta({ ref: "ThreadContext" });

/** `/threads/:id/context`: the last model request, byte for byte, by section. */
export function contextRoutes(): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  routes.get(
    "/threads/:thread_id/context",
    describe({
      tag: "Threads",
      summary: "What the model was last sent, and what fills its window",
      answer: ContextShape,
      errors: { 404: "No such thread" },
    }),
    path(ThreadPath),
    query(Which),
    async (context) => {
      const services = productServicesOf(context);
      const session = await requireSession(services.storage, context.req.valid("param").thread_id);
      return answerJson(context, await readContext(services, session, context.req.valid("query").call));
    },
  );
  return routes;
}
