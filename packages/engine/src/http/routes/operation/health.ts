import { Hono } from "hono";
import { z } from "zod";
import { describe } from "../../describe.ts";
import type { HttpApp, HttpEnvironment, SharedServices } from "../../environment.ts";

const Live = z.object({ status: z.literal("live") });
const Ready = z.object({ status: z.literal("ready") });
const NotReady = z.object({
  status: z.literal("not_ready"),
  reasons: z.array(z.string()).describe("What keeps the server from working, for an operator"),
});

/** Whether the process responds, and whether it can work: for monitoring, without a key and under load. */
export function healthRoutes({ health }: SharedServices): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  routes.get(
    "/health/live",
    describe({
      tag: "Meta",
      summary: "Whether the process answers; restart it where it does not",
      isOpen: true,
      answer: Live,
    }),
    (context) => context.json({ status: "live" }),
  );
  routes.get(
    "/health/ready",
    describe({
      tag: "Meta",
      summary: "Whether runs can be taken: graphs, database and disk, and no stop under way",
      isOpen: true,
      answer: Ready,
      errorAnswers: { 503: NotReady },
      errors: { 503: "It cannot work now; `reasons` says why" },
    }),
    async (context) => {
      const reasons = await health.reasons();
      if (reasons.length === 0) return context.json({ status: "ready" });
      context.header("Retry-After", "1");
      return context.json({ status: "not_ready", reasons }, 503);
    },
  );
  return routes;
}
