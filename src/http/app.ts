import { Hono, type MiddlewareHandler } from "hono";
import type { AgentSource } from "../agents/agent-folders.ts";
import type { Config } from "@millrace/engine/config/config";
import type { TokenCounter } from "../context/tokens/token-counter.ts";
import type { Documentation } from "../context/documentation/open-documentation.ts";
import { guardedCrons } from "../crons/guarded-crons.ts";
import { ownCrons } from "../crons/own-crons.ts";
import type { Graphs } from "../graph/load.ts";
import type { LiveSettings } from "../live-settings/live-settings.ts";
import type { Logger } from "@millrace/engine/logger";
import type { CustomAuth } from "@millrace/engine/manifest/auth";
import type { CustomParts } from "@millrace/engine/manifest/custom-parts";
import type { ModelServices } from "../models/resilience/model-services.ts";
import type { OllamaService } from "../models/ollama/service.ts";
import type { ModelRegistry } from "../models/registry/registry.ts";
import type { EditablePrompts } from "../prompts/open-prompts.ts";
import type { Runs } from "../runs/runs.ts";
import { openDoor } from "../sessions/door.ts";
import type { Guard } from "../sessions/guard.ts";
import type { ManualTools } from "../sessions/manual-run.ts";
import { createMeetingPoints, type MeetingPoints } from "../sessions/meeting-points.ts";
import type { Storage } from "@millrace/engine/storage/storage";
import { adminName, ownerOfUser, type ApiKey } from "@millrace/engine/config/api-keys";
import type { Operations } from "../tools/undo/operations.ts";
import type { FileWatch } from "../watching/file-watch.ts";
import { mountCustomApp, tellUser, withoutResources } from "./custom-app.ts";
import type { HttpApp, HttpEnvironment, HttpServices } from "./environment.ts";
import { answerError } from "./errors.ts";
import { requireKey, type Caller } from "./middleware/api-key.ts";
import { contentTypes, gate } from "./middleware/gate.ts";
import { identifyBy } from "./middleware/identify.ts";
import { packAnswers } from "./middleware/pack-answers.ts";
import { requestBasics } from "./middleware/request-basics.ts";
import { limitRequests } from "./middleware/request-limit.ts";
import { openApiRoutes } from "./openapi.ts";
import { chatCompletionRoutes } from "./openai/chat-routes.ts";
import { modelListRoutes } from "./openai/model-routes.ts";
import { responseRoutes } from "./openai/response-routes.ts";
import { answerOpenAiError, openAiPaths } from "./openai/problem.ts";
import { a2aRoutes } from "./routes/a2a.ts";
import { agentRoutes } from "./routes/agents.ts";
import { approvalRoutes } from "./routes/approvals.ts";
import { assistantChangeRoutes } from "./routes/assistant-changes.ts";
import { assistantRoutes } from "./routes/assistants.ts";
import { contextRoutes } from "./routes/context.ts";
import { cronRoutes } from "./routes/crons.ts";
import { externalToolRoutes } from "./routes/external-tools.ts";
import { chatRoutes } from "./routes/chat.ts";
import { compressRoutes } from "./routes/compress.ts";
import { exportRoutes } from "./routes/export.ts";
import { fileRoutes } from "./routes/files.ts";
import { forkRoutes } from "./routes/fork.ts";
import { libraryDocsRoutes } from "./routes/library-docs.ts";
import { maintenanceRoutes } from "./routes/maintenance.ts";
import { identityRoutes } from "./routes/identity.ts";
import { mcpRoutes } from "./routes/mcp.ts";
import { messageRoutes } from "./routes/messages.ts";
import { metaRoutes } from "./routes/meta.ts";
import { modelTestRoutes } from "./routes/model-test.ts";
import { modelRoutes } from "./routes/models.ts";
import { modelServiceRoutes } from "./routes/model-services.ts";
import { namespaceRoutes } from "./routes/namespaces.ts";
import { ollamaRoutes } from "./routes/ollama.ts";
import { operationRoutes } from "./routes/operations.ts";
import { partialRoutes } from "./routes/partial.ts";
import { promptRoutes } from "./routes/prompts.ts";
import { protocolRoutes } from "./routes/protocol.ts";
import { providerRoutes } from "./routes/providers.ts";
import { resultRoutes } from "./routes/results.ts";
import { ruleRoutes } from "./routes/rules.ts";
import { settingRoutes } from "./routes/settings.ts";
import { statelessRunRoutes } from "./routes/stateless-runs.ts";
import { storeRoutes } from "./routes/store.ts";
import { suggestionRoutes } from "./routes/suggestions.ts";
import { taskRoutes } from "./routes/tasks.ts";
import { tokenRoutes } from "./routes/tokens.ts";
import { toolkitRoutes } from "./routes/toolkits.ts";
import { toolRoutes } from "./routes/tools.ts";
import { threadInfoRoutes } from "./routes/thread-info.ts";
import { threadSearchRoutes } from "./routes/thread-search.ts";
import { threadRunRoutes } from "./routes/thread-runs.ts";
import { threadStateRoutes } from "./routes/thread-state.ts";
import { threadStatusRoutes } from "./routes/thread-status.ts";
import { threadStreamRoutes } from "./routes/thread-stream.ts";
import { threadUsageRoutes } from "./routes/thread-usage.ts";
import { threadRoutes } from "./routes/threads.ts";
import { truncateRoutes } from "./routes/truncate.ts";
import { uiRoutes } from "./routes/ui.ts";
import { webSearchRoutes } from "./routes/web-search.ts";

/** Every resource of the API. A new one is a file in `routes/` and a line here. */
const resources: readonly ((services: HttpServices) => HttpApp)[] = [
  metaRoutes,
  assistantRoutes,
  assistantChangeRoutes,
  threadRoutes,
  threadSearchRoutes,
  maintenanceRoutes,
  threadStateRoutes,
  threadStatusRoutes,
  threadStreamRoutes,
  threadInfoRoutes,
  threadUsageRoutes,
  contextRoutes,
  messageRoutes,
  suggestionRoutes,
  forkRoutes,
  exportRoutes,
  compressRoutes,
  namespaceRoutes,
  approvalRoutes,
  agentRoutes,
  operationRoutes,
  fileRoutes,
  resultRoutes,
  toolRoutes,
  toolkitRoutes,
  tokenRoutes,
  partialRoutes,
  threadRunRoutes,
  protocolRoutes,
  statelessRunRoutes,
  cronRoutes,
  storeRoutes,
  taskRoutes,
  chatRoutes,
  mcpRoutes,
  a2aRoutes,
  promptRoutes,
  modelRoutes,
  modelTestRoutes,
  providerRoutes,
  modelServiceRoutes,
  ollamaRoutes,
  identityRoutes,
  settingRoutes,
  ruleRoutes,
  externalToolRoutes,
  libraryDocsRoutes,
  webSearchRoutes,
  truncateRoutes,
  uiRoutes,
  chatCompletionRoutes,
  responseRoutes,
  modelListRoutes,
];

/** What the HTTP layer is given by `server.ts`. */
export interface ServerParts {
  config: Config;
  storage: Storage;
  runs: Runs;
  operations: Operations;
  manual: ManualTools;
  prompts: EditablePrompts;
  models: ModelRegistry;
  modelServices: ModelServices;
  ollama: OllamaService;
  tokens: TokenCounter;
  documentation: Documentation;
  agents: AgentSource;
  files: FileWatch | undefined;
  settings: LiveSettings;
  graphs: Graphs;
  /** What the langgraph.json brings besides graphs. */
  custom: CustomParts;
  logger: Logger;
}

/** The whole HTTP API; it does not listen. */
export interface Api {
  fetch(request: Request, bindings: object): Response | Promise<Response>;
}

/**
 * The API for all callers. Each owner has an app of their own, whose routes were given that owner's door: no route sees
 * who calls, and none can reach what is not the caller's. Apps are made at an owner's first request.
 */
export function createApi(parts: ServerParts): Api {
  const { apiKeys, host, maxRequests, corsOrigins } = parts.config;
  const shared = {
    limit: limitRequests(maxRequests),
    meeting: createMeetingPoints(),
    onRefused: tellOnce(parts.logger),
  };
  const { auth, cors } = parts.custom;
  const identify = identifyBy({ apiKeys, auth, host, origins: [...corsOrigins, ...(cors?.allow_origins ?? [])] });
  if (apiKeys.length === 0 && auth === undefined) return createApp(parts, shared, { kind: "anyone" });
  const apps = new Map<string, HttpApp>();
  const appOf = (caller: Caller): HttpApp => {
    const name = JSON.stringify(caller);
    const app = apps.get(name) ?? createApp(parts, shared, caller);
    // The one that was used last stands at the end.
    apps.delete(name);
    apps.set(name, app);
    const [oldest] = apps.keys();
    if (apps.size > mostApps && oldest !== undefined) apps.delete(oldest);
    return app;
  };
  // What of the parts cannot be used is told at the start, and not to whoever calls first.
  appOf({ kind: "nobody", hasKey: false });
  return {
    fetch: (request, bindings) => {
      const caller = identify(request);
      if (!(caller instanceof Promise)) return appOf(caller).fetch(request, bindings);
      return caller.then((known) => appOf(known).fetch(request, bindings));
    },
  };
}

/** Apps of callers that are kept, of less than a megabyte each: users may be any number, and what is said of each may change. */
const mostApps = 100;

/** What the apps of one server have in common, however many callers there are. */
interface SharedByCallers {
  limit: MiddlewareHandler<HttpEnvironment>;
  meeting: MeetingPoints;
  onRefused: (origin: string) => void;
}

/** Refused pages that the log names: each once, and anybody can make up any number of them. */
const mostRefused = 100;

/** Logs a page that may not call, the first time it tries: its own user is told nothing that would help. */
function tellOnce(logger: ServerParts["logger"]): (origin: string) => void {
  const told = new Set<string>();
  return (origin) => {
    if (told.has(origin) || told.size >= mostRefused) return;
    told.add(origin);
    const setting = "MILLRACE_CORS_ORIGINS, or http.cors.allow_origins of langgraph.json";
    logger.warn({ origin, allowed_by: setting }, "origin_refused");
  };
}

/** The app of one caller. Nothing passes the gate and the key check but what they let through. */
function createApp(parts: ServerParts, { limit, meeting, onRefused }: SharedByCallers, caller: Caller): HttpApp {
  const { storage, runs, operations, manual, custom, ...shared } = parts;
  const { config, logger } = shared;
  const app: HttpApp = new Hono<HttpEnvironment>();
  app.onError((error, context) =>
    openAiPaths.test(context.req.path)
      ? answerOpenAiError(error, context, logger)
      : answerError(error, context, logger),
  );
  app.notFound((context) => context.text("404 Not Found", 404));
  app.use(requestBasics(config.bodyLimit));
  app.use(limit);
  const { host, allowedHosts, corsOrigins, localPages } = config;
  app.use(gate({ host, allowedHosts, corsOrigins, cors: custom.cors, localPages, onRefused }));
  app.use(requireKey(caller));
  if (caller.kind === "user") app.use(tellUser(caller.context));
  mountCustomApp(app, custom.httpApp);
  // After it: whoever brings routes may stream what looks like a plain answer.
  app.use(packAnswers);
  app.use(contentTypes());
  if (custom.disabled.length > 0) app.use(withoutResources(custom.disabled));
  const guard = guardOf(caller, custom.auth);
  const door = openDoor({ storage, runs, operations, manual, meeting }, ownerOf(caller), guard);
  const mayAdminister = caller.kind !== "user" && administers(ownerOf(caller), config.apiKeys);
  const crons =
    guard === undefined
      ? ownCrons(storage, ownerOf(caller))
      : guardedCrons(ownCrons(storage, null, ownerOf(caller)), storage, guard);
  const services = { ...door, ...shared, crons, mayAdminister, interfaces: custom.interfaces };
  for (const routes of resources) app.route("/", routes(services));
  app.route("/", openApiRoutes(app, config.apiKeys.length > 0));
  return app;
}

/** What all owners share is changed by the owner `admin`, by the only one there is, or by anyone where there are no keys. */
function administers(owner: string | null, apiKeys: readonly ApiKey[]): boolean {
  return owner === null || owner === adminName || apiKeys.every((key) => key.owner === owner);
}

/** Behind nobody's door is nothing: no owner has an empty name. */
function ownerOf(caller: Caller): string | null {
  switch (caller.kind) {
    case "anyone":
      return null;
    case "owner":
      return caller.name;
    case "user":
      return ownerOfUser(caller.context.user.identity);
    case "nobody":
    case "refused":
      return "";
  }
}

/** The rules for a user of `auth.path`; other callers are told apart by their keys alone. */
function guardOf(caller: Caller, auth: CustomAuth | undefined): Guard | undefined {
  return caller.kind === "user" && auth !== undefined
    ? { context: caller.context, authorize: auth.authorize }
    : undefined;
}
