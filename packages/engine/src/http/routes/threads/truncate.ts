import { Hono } from "hono";
import { z } from "zod";
import { truncate } from "../../../sessions/truncate.ts";
import { describe } from "../../describe.ts";
import { servicesOf, type HttpApp, type HttpEnvironment, type SharedServices } from "../../environment.ts";
import { jsonBody } from "../../validate.ts";

const flag = z.boolean().nullish();
const Truncate = z.object({
  runs: flag,
  threads: flag,
  assistants: flag,
  checkpointer: flag,
  store: flag,
  crons: flag,
});
const Ok = z.object({ ok: z.literal(true) });

/**
 * `/internal/truncate`: removes all that the caller has, kind by kind, for test suites of clients. It is there only
 * where the server was told so: nobody else wants to meet it by mistake.
 */
export function truncateRoutes(services: SharedServices): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  if (!services.config.allowTruncate) return routes;
  routes.post(
    "/internal/truncate",
    describe({
      tag: "Meta",
      summary: "Remove everything of some kinds; only under MILLRACE_ALLOW_TRUNCATE",
      answer: Ok,
      errors: { 403: "`store` by a user of auth.path: the items of all users are in one" },
    }),
    jsonBody(Truncate),
    async (context) => {
      const services = servicesOf(context);
      const { runs, threads, assistants, checkpointer, store, crons } = context.req.valid("json");
      await truncate(services, {
        runs: runs ?? false,
        assistants: assistants ?? false,
        threads: threads ?? false,
        checkpointer: checkpointer ?? false,
        store: store ?? false,
      });
      if (crons === true) await services.crons.clear();
      return context.json({ ok: true });
    },
  );
  return routes;
}
