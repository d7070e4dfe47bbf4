import { Hono } from "hono";
import { z } from "zod";
import { noSession } from "../../../sessions/scope/guard.ts";
import { messagesIn } from "../../../sessions/messages/conversation.ts";
import { readValues, requireSession } from "../../../sessions/sessions.ts";
import { readUsage, SessionUsage } from "../../../sessions/messages/usage.ts";
import { describe } from "../../describe.ts";
import { servicesOf, type HttpApp, type HttpContext, type HttpEnvironment } from "../../environment.ts";
import { respondJson } from "../../responses/wire.ts";
import { Id, path, query } from "../../validate.ts";

const ThreadPath = z.object({ thread_id: Id });
const UsageQuery = z.object({
  last: z.coerce.number().int().min(1).max(1000).default(10).describe("So many requests are listed"),
  seconds: z.coerce.number().positive().max(1e9).optional().describe("Sums up the last seconds too"),
});
const UsageShape = SessionUsage.meta({ ref: "ThreadUsage" });
const Since = z.iso.datetime().nullable().catch(null);
const tag = "Threads";
const errors = { 404: "No such thread" };

/** `/threads/:id/usage`: tokens, cost, and savings by the provider's cache. */
export function threadUsageRoutes(): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();

  async function answer(context: HttpContext, id: string, wanted: z.infer<typeof UsageQuery>): Promise<Response> {
    const { storage } = servicesOf(context);
    const session = await requireSession(storage, id);
    const messages = messagesIn(await readValues(storage, id));
    const since = Since.parse(session.metadata["usage_since"] ?? null);
    const { last, seconds } = wanted;
    return respondJson(context, readUsage(messages, { since, last, seconds, now: Date.now() }));
  }

  routes.get(
    "/threads/:thread_id/usage",
    describe({ tag, summary: "What its model calls used, and what the cache saved", answer: UsageShape, errors }),
    path(ThreadPath),
    query(UsageQuery),
    async (context) => answer(context, context.req.valid("param").thread_id, context.req.valid("query")),
  );

  routes.delete(
    "/threads/:thread_id/usage",
    describe({ tag, summary: "Begin its statistics anew; no message is changed", answer: UsageShape, errors }),
    path(ThreadPath),
    async (context) => {
      const services = servicesOf(context);
      const { thread_id: id } = context.req.valid("param");
      await requireSession(services.storage, id);
      const metadata = { usage_since: new Date().toISOString() };
      if ((await services.storage.sessions.update(id, { metadata })) === undefined) throw noSession(id);
      return answer(context, id, UsageQuery.parse({}));
    },
  );
  return routes;
}
