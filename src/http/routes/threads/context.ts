import { Hono } from "hono";
import { z } from "zod";
import { readContext, SessionContext } from "../../../sessions/overview/context-snapshot.ts";
import { ContextMessages, readContextMessages } from "../../../sessions/overview/context-messages.ts";
import { requireSession } from "@millrace/engine/sessions/sessions";
import { describe } from "@millrace/engine/http/describe";
import type { HttpApp, HttpEnvironment } from "@millrace/engine/http/environment";
import { productServicesOf } from "../../product-services.ts";
import { respondJson } from "@millrace/engine/http/responses/wire";
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
const Page = z.object({
  limit: z.coerce.number().int().min(1).max(1000).default(50),
  before: z.string().min(1).max(200).optional().describe("Only messages before this one"),
});
const ContextShape = SessionContext.meta({ ref: "ThreadContext" });

/** `/threads/:id/context`: the last model request, byte for byte, by section; `…/messages`: what it had of each message. */
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
      return respondJson(context, await readContext(services, session, context.req.valid("query").call));
    },
  );
  routes.get(
    "/threads/:thread_id/context/messages",
    describe({
      tag: "Threads",
      summary: "What the last request had of each message, with its tokens and importance",
      answer: ContextMessages,
      errors: { 404: "No such thread or message" },
    }),
    path(ThreadPath),
    query(Page),
    async (context) => {
      const { storage } = productServicesOf(context);
      const session = await requireSession(storage, context.req.valid("param").thread_id);
      return respondJson(context, await readContextMessages(storage, session, context.req.valid("query")));
    },
  );
  return routes;
}
