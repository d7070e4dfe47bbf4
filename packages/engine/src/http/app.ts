import { Hono, type MiddlewareHandler } from "hono";
import type { Config } from "../config/config.ts";
import { startCronRunNow } from "../crons/clock.ts";
import { guardedCrons, ownCrons } from "../crons/crons.ts";
import type { Cron } from "../storage/record-stores.ts";
import type { Run } from "../storage/records.ts";
import type { Graphs } from "../graphs/load.ts";
import type { Logger } from "../logger.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { Health } from "../process/health.ts";
import type { CustomAuth } from "../manifest/auth.ts";
import type { CustomParts, Resource } from "../manifest/custom-parts.ts";
import type { Runs } from "../runs/runs.ts";
import type { ServerFeed } from "../sessions/overview/server-feed.ts";
import { scopeFor } from "../sessions/scope/owner-scope.ts";
import { createSharedLocks } from "../sessions/scope/shared-locks.ts";
import type { AuthorizationRules } from "../sessions/scope/guard.ts";
import type { Storage } from "../storage/storage.ts";
import { adminName, type ApiKey, ownerOfUser } from "../config/api-keys.ts";
import type { Caller, HttpApp, HttpEnvironment, HttpExtension, HttpServices, SharedServices } from "./environment.ts";
import { respondError } from "./errors.ts";
import { contentTypes, gate } from "./middleware/gate.ts";
import { McpMemory } from "./mcp/mcp-memory.ts";
import { identifyCaller } from "./middleware/identify.ts";
import { limitRequests, compressResponses, requestBasics } from "./middleware/request-basics.ts";
import { openApiRoutes } from "./describe.ts";
import { chatCompletionRoutes, modelListRoutes } from "./openai/chat/chat-routes.ts";
import { callerRoutes } from "./routes/assistants/caller.ts";
import { respondOpenAiError, openAiPaths } from "./openai/problem.ts";
import { responseRoutes } from "./openai/responses/response-routes.ts";
import { a2aRoutes } from "./routes/assistants/a2a.ts";
import { approvalRoutes } from "./routes/runs/approvals.ts";
import { allRunRoutes } from "./routes/runs/all-runs.ts";
import { assistantChangeRoutes } from "./routes/assistants/assistant-changes.ts";
import { assistantRoutes } from "./routes/assistants/assistants.ts";
import { cronRequest } from "./requests/cron-shapes.ts";
import { cronRoutes } from "./routes/runs/crons.ts";
import { healthRoutes } from "./routes/operation/health.ts";
import { metricsRoutes } from "./routes/operation/metrics.ts";
import { feedRoutes } from "./routes/runs/feed.ts";
import { branchRoutes } from "./routes/threads/branches.ts";
import { forkRoutes, maintenanceRoutes, truncateRoutes } from "./routes/threads/fork.ts";
import { mcpRoutes } from "./routes/assistants/mcp.ts";
import { metaRoutes, uiRoutes } from "./routes/assistants/meta.ts";
import { protocolRoutes } from "./routes/runs/protocol.ts";
import { statelessRunRoutes } from "./routes/runs/stateless-runs.ts";
import { storeRoutes } from "./routes/assistants/store.ts";
import { threadSearchRoutes } from "./routes/threads/thread-search.ts";
import { threadRunRoutes } from "./routes/runs/thread-runs.ts";
import { traceRoutes } from "./routes/runs/trace.ts";
import { threadStateRoutes } from "./routes/threads/thread-state.ts";
import { threadStreamRoutes } from "./routes/threads/thread-stream.ts";
import { threadRoutes } from "./routes/threads/threads.ts";
import { serverRoutes } from "./routes/operation/server.ts";
import { usageRoutes } from "./routes/operation/usage.ts";
import { AppError } from "../errors/errors.ts";
import { markSent } from "./responses/sse.ts";
import { usageOfCaller } from "../usage/usage-of-callers.ts";

/** Every resource of the API. A new one is a file in `routes/` and a line here. */
const resources: readonly ((shared: SharedServices) => HttpApp)[] = [
  metaRoutes,
  healthRoutes,
  serverRoutes,
  usageRoutes,
  metricsRoutes,
  assistantRoutes,
  assistantChangeRoutes,
  threadRoutes,
  threadSearchRoutes,
  maintenanceRoutes,
  threadStateRoutes,
  threadStreamRoutes,
  forkRoutes,
  branchRoutes,
  approvalRoutes,
  allRunRoutes,
  feedRoutes,
  threadRunRoutes,
  traceRoutes,
  protocolRoutes,
  statelessRunRoutes,
  cronRoutes,
  storeRoutes,
  mcpRoutes,
  a2aRoutes,
  truncateRoutes,
  uiRoutes,
  chatCompletionRoutes,
  responseRoutes,
  modelListRoutes,
];

/** What `server.ts` passes to the HTTP layer. */
export interface ServerParts {
  config: Config;
  /** The current API keys. */
  apiKeys: () => readonly ApiKey[];
  storage: Storage;
  runs: Runs;
  feed: ServerFeed;
  graphs: Graphs;
  /** What langgraph.json adds besides graphs. */
  custom: CustomParts;
  logger: Logger;
  health: Health;
  metrics: Metrics;
  /** What an agent adds; absent if only foreign graphs are served. */
  extension?: ((shared: SharedServices) => HttpExtension) | undefined;
}

/**
 * The whole HTTP API, not listening. One app serves all callers: each request gets services in its caller's scope, and
 * routes reach sessions and runs only through them.
 */
export function createApi(parts: ServerParts): HttpApp {
  const { config, custom, logger } = parts;
  const { host, allowedHosts, corsOrigins, localPages } = config;
  const { apiKeys } = parts;
  const { auth, cors } = custom;
  const app: HttpApp = new Hono<HttpEnvironment>();
  app.onError((error, context) =>
    openAiPaths.test(context.req.path)
      ? respondOpenAiError(error, context, logger)
      : respondError(error, context, logger),
  );
  app.notFound((context) => context.text("404 Not Found", 404));
  app.use(requestBasics({ bodyLimit: config.bodyLimit, slowSeconds: config.slowRequestSeconds, logger }));
  app.use(limitRequests(config.maxRequests));
  app.use(gate({ host, allowedHosts, corsOrigins, cors, localPages, onRefused: logRefusedOrigins(logger) }));
  const origins = [...corsOrigins, ...(cors?.allow_origins ?? [])];
  // `http.app` decides itself about the paths it serves.
  const hasRoot = !answers(custom.httpApp, /^\/(console(\/.*)?)?$/u);
  const hasOperation = !answers(custom.httpApp, /^\/(metrics|health\/.+)$/u);
  const hasConsole = config.console && hasRoot && parts.extension !== undefined;
  app.use(identifyCaller({ apiKeys, auth, host, origins, hasRoot, hasOperation, hasConsole }));
  mountCustomApp(app, custom.httpApp);
  // After it: users' routes may stream what looks like a plain answer.
  app.use(compressResponses);
  app.use(contentTypes(() => extension?.takesBytes ?? []));
  if (custom.disabled.length > 0) app.use(withoutResources(custom.disabled));
  const { graphs } = parts;
  const { interfaces, disabled } = custom;
  const shared: SharedServices = {
    config,
    graphs,
    logger,
    interfaces,
    disabled,
    hasConsole,
    health: parts.health,
    cluster: parts.storage.cluster,
    mcp: parts.storage.mcp ?? new McpMemory(),
    metrics: parts.metrics,
  };
  const extension = parts.extension?.(shared);
  const servicesFor = createServices(parts, shared, extension);
  app.use(async (context, next) => {
    context.set("scope", servicesFor(context.get("caller")));
    return next();
  });
  for (const routes of resources) app.route("/", routes(shared));
  for (const routes of extension?.routes() ?? []) app.route("/", routes);
  app.route("/", callerRoutes(shared, extension?.features));
  app.route("/", openApiRoutes(app, apiKeys().length > 0));
  return app;
}

/** Refused origins that are logged once each; bounded, since anyone can invent new ones. */
const maxRefused = 100;

/** Logs a refused origin the first time, since the page's user sees no helpful error. */
function logRefusedOrigins(logger: Logger): (origin: string) => void {
  const known = new Set<string>();
  return (origin) => {
    if (known.has(origin) || known.size >= maxRefused) return;
    known.add(origin);
    const setting = "MILLRACE_CORS_ORIGINS, or http.cors.allow_origins of langgraph.json";
    logger.warn({ origin, allowed_by: setting }, "origin_refused");
  };
}

/** Creates a request's services for its caller. */
function createServices(
  { storage, runs, feed, apiKeys, custom }: ServerParts,
  shared: SharedServices,
  extension: HttpExtension | undefined,
): (caller: Caller) => HttpServices {
  const scopeParts = { storage, runs, feed, locks: createSharedLocks(storage.notifications) };
  const toRequest = cronRequest.bind(undefined, { runnable: storage, graphs: shared.graphs });
  const start = (cron: Cron): Promise<Run> => startCronRunNow(cron, { storage, runs, toRequest });
  const cronParts = { crons: storage.crons, start };
  const make = (caller: Caller): HttpServices => {
    const owner = ownerOf(caller);
    const guard = guardOf(caller, custom.auth);
    const crons =
      guard === undefined ? ownCrons(cronParts, owner) : guardedCrons(ownCrons(cronParts, null, owner), storage, guard);
    const mayAdminister = caller.kind !== "user" && administers(owner, apiKeys());
    const scope = scopeFor(scopeParts, owner, guard);
    const usage = usageOfCaller(storage.usage, scope.owner, mayAdminister);
    return { ...extension?.services(scope, owner), ...shared, ...scope, crons, usage, mayAdminister };
  };
  // Without keys, all callers are one.
  const forAnyone = make({ kind: "anyone" });
  return (caller) => (caller.kind === "anyone" ? forAnyone : make(caller));
}

/** Shared resources may be changed by the owner `admin`, by the only owner, or by anyone if there are no keys. */
function administers(owner: string | null, apiKeys: readonly ApiKey[]): boolean {
  return owner === null || owner === adminName || apiKeys.every((key) => key.owner === owner);
}

/** Callers without a key have the owner `""`, who owns nothing. */
function ownerOf(caller: Caller): string | null {
  switch (caller.kind) {
    case "anyone":
      return null;
    case "owner":
      return caller.name;
    case "user":
      return ownerOfUser(caller.context.user.identity);
    case "anonymous":
      return "";
  }
}

/** The rules for a user of `auth.path`; other callers are separated by their keys alone. */
function guardOf(caller: Caller, auth: CustomAuth | undefined): AuthorizationRules | undefined {
  return caller.kind === "user" && auth !== undefined
    ? { context: caller.context, authorize: auth.authorize }
    : undefined;
}

/**
 * Mounts the routes and middleware of `http.app` before ours: they see every request that passed the gate and may
 * answer it. Throws `config` if it is not a Hono app.
 */
function mountCustomApp(app: HttpApp, custom: unknown): void {
  if (custom === undefined) return;
  if (!isHono(custom)) {
    throw new AppError("config", "http.app of langgraph.json names something that is no Hono app.", {
      suggestion: 'Export one: export const app = new Hono().get("/hello", (c) => c.text("hi")).',
    });
  }
  app.use(keepSent);
  app.route("/", custom);
}

/** Whether `http.app` has routes of its own at such paths. */
function answers(custom: unknown, paths: RegExp): boolean {
  return isHono(custom) && custom.routes.some(({ path }) => paths.test(path));
}

/**
 * This server writes streams and long waits itself: middleware that acts after a handler can no longer reach them, and
 * must not send a second response.
 */
const keepSent: MiddlewareHandler<HttpEnvironment> = async (context, next) => {
  await next();
  if (context.env.outgoing.headersSent) markSent(context);
};

/** A Hono app, possibly of another copy of Hono. */
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

/**
 * The paths of resources that langgraph.json may disable. A thread's runs, and whatever starts or follows them, count
 * as runs.
 */
const pathsOf: Record<Resource, RegExp> = {
  assistants: /^\/(assistants|graphs)(\/|$)/u,
  threads: /^\/threads(?!\/[^/]+\/(runs|commands|stream)(\/|$))(\/|$)/u,
  runs: /^(\/threads\/[^/]+\/(runs|commands|stream)|\/runs)(\/|$)/u,
  store: /^\/store(\/|$)/u,
  mcp: /^\/mcp$/u,
  openai: openAiPaths,
  a2a: /^\/(a2a\/|\.well-known\/agent-card\.json$)/u,
  meta: /^\/(ok|info|openapi\.json|docs(\/.*)?)$/u,
};

/** Answers 404 for disabled resources. */
function withoutResources(disabled: readonly Resource[]): MiddlewareHandler<HttpEnvironment> {
  const paths = disabled.map((resource) => pathsOf[resource]);
  return async (context, next) => {
    if (paths.some((path) => path.test(context.req.path))) return context.text("404 Not Found", 404);
    return next();
  };
}
