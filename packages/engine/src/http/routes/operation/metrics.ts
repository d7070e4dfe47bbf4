import { createHash, timingSafeEqual } from "node:crypto";
import { Hono } from "hono";
import { HTTPException } from "hono/http-exception";
import { describe } from "../../describe.ts";
import type { HttpApp, HttpContext, HttpEnvironment, SharedServices } from "../../environment.ts";
import { isLoopbackHost } from "../../middleware/gate.ts";
import { wasForwarded } from "../../middleware/identify.ts";

/** `/metrics`: Prometheus metrics, for this machine or with a key of its own. */
export function metricsRoutes({ config, metrics }: SharedServices): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  const digest = config.metricsKey === undefined ? undefined : digestOf(config.metricsKey);
  routes.get(
    "/metrics",
    describe({
      tag: "Meta",
      summary: "The server's numbers, for Prometheus",
      isOpen: true,
      errors: {
        401: "The key MILLRACE_METRICS_KEY is wrong or missing",
        403: "Without a key only this machine may ask",
      },
      plain: "text/plain",
    }),
    async (context) => {
      if (digest === undefined) requireLoopback(context);
      else requireKey(context, digest);
      const { body, contentType } = await metrics.text();
      return context.body(body, 200, { "content-type": contentType });
    },
  );
  return routes;
}

function digestOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

function requireKey({ req }: HttpContext, digest: Buffer): void {
  const key = req.header("x-api-key") ?? /^Bearer (.+)$/iu.exec(req.header("authorization") ?? "")?.[1];
  if (key !== undefined && timingSafeEqual(digestOf(key), digest)) return;
  throw new HTTPException(401, {
    message: "The metrics have a key of their own: send MILLRACE_METRICS_KEY as a bearer token.",
  });
}

/**
 * Requests forwarded by a local proxy seem to come from this machine. Most proxies add headers; others keep the
 * requested host name.
 */
function requireLoopback({ env, req }: HttpContext): void {
  const address = env.incoming.socket.remoteAddress ?? "";
  const isLoopback = /^(::ffff:)?127\.|^::1$/u.test(address) && isLoopbackHost(req.header("host") ?? "");
  if (isLoopback && !wasForwarded(req.raw.headers)) return;
  throw new HTTPException(403, {
    message: "Only this machine may ask for the metrics. Set MILLRACE_METRICS_KEY for others.",
  });
}
