import type { Hono, MiddlewareHandler } from "hono";
import { AppError } from "../errors/errors.ts";
import type { Resource } from "../manifest/custom-parts.ts";
import type { HttpApp, HttpEnvironment } from "./environment.ts";
import { openAiPaths } from "./openai/problem.ts";
import { markSent } from "./answers/sse.ts";

/**
 * Puts the routes and the middleware of `http.app` before ours: they see every request that has passed the gate, and
 * may answer it. Throws `config` for what is no Hono app.
 */
export function mountCustomApp(app: HttpApp, custom: unknown): void {
  if (custom === undefined) return;
  if (!isHono(custom)) {
    throw new AppError("config", "http.app of langgraph.json names something that is no Hono app.", {
      suggestion: 'Export one: export const app = new Hono().get("/hello", (c) => c.text("hi")).',
    });
  }
  app.use(keepSent);
  app.route("/", custom);
}

/**
 * What middleware sets after a handler can no longer reach an answer that this server has begun to send itself (streams
 * and long waits), and must not make a second one of it.
 */
const keepSent: MiddlewareHandler<HttpEnvironment> = async (context, next) => {
  await next();
  if (context.env.outgoing.headersSent) markSent(context);
};

/** A Hono app, also of another copy of Hono. */
function isHono(value: unknown): value is Hono<HttpEnvironment> {
  return (
    typeof value === "object" &&
    value !== null &&
    "routes" in value &&
    Array.isArray(value.routes) &&
    "fetch" in value &&
    typeof value.fetch === "function"
  );
}

/** The paths of what a manifest may switch off. A thread's runs, and what starts and follows them, are runs. */
const pathsOf: Record<Resource, RegExp> = {
  assistants: /^\/assistants(\/|$)/u,
  threads: /^\/threads(?!\/[^/]+\/(runs|commands|stream)(\/|$))(\/|$)/u,
  runs: /^(\/threads\/[^/]+\/(runs|commands|stream)|\/runs)(\/|$)/u,
  store: /^\/store(\/|$)/u,
  mcp: /^\/mcp$/u,
  openai: openAiPaths,
  a2a: /^\/(a2a\/|\.well-known\/agent-card\.json$)/u,
  meta: /^\/(ok|info|openapi\.json|docs(\/.*)?)$/u,
};

/** Answers as if what is switched off did not exist. */
export function withoutResources(disabled: readonly Resource[]): MiddlewareHandler<HttpEnvironment> {
  const paths = disabled.map((resource) => pathsOf[resource]);
  return async (context, next) => {
    if (paths.some((path) => path.test(context.req.path))) return context.text("404 Not Found", 404);
    return next();
  };
}
