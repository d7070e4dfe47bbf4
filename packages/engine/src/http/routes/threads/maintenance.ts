import { Hono } from "hono";
import { z } from "zod";
import { pruneSessions } from "../../../sessions/state/prune.ts";
import { describe } from "../../describe.ts";
import { servicesOf, type HttpApp, type HttpEnvironment } from "../../environment.ts";
import { Id, jsonBody } from "../../validate.ts";

const Prune = z.object({
  thread_ids: z.array(Id).max(1_000),
  strategy: z
    .enum(["delete", "keep_latest"])
    .nullish()
    .describe("`delete` (default) removes the threads; `keep_latest` removes all their states but the newest ones"),
});
const Pruned = z.object({ pruned_count: z.number().int() });

/** `/threads/prune`: frees what many threads take, while the server runs. */
export function maintenanceRoutes(): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  routes.post(
    "/threads/prune",
    describe({ tag: "Threads", summary: "Delete threads, or their former states", answer: Pruned }),
    jsonBody(Prune),
    async (context) => {
      const services = servicesOf(context);
      const { thread_ids: ids, strategy } = context.req.valid("json");
      const count = await pruneSessions(services, { ids, strategy: strategy ?? "delete" });
      return context.json({ pruned_count: count });
    },
  );
  return routes;
}
