import { Hono } from "hono";
import type { AgentSource } from "../agents/agent-folders.ts";
import type { Config } from "@millrace/engine/config/config";
import type { TokenCounter } from "../context/tokens/token-counter.ts";
import type { Documentation } from "../context/documentation/open-documentation.ts";
import { guardedCrons } from "../crons/guarded-crons.ts";
import { ownCrons } from "../crons/own-crons.ts";
import type { Graphs } from "@millrace/engine/graphs/load";
import type { LiveSettings } from "../live-settings/live-settings.ts";
import type { Logger } from "@millrace/engine/logger";
import type { CustomAuth } from "@millrace/engine/manifest/auth";
import type { CustomParts } from "@millrace/engine/manifest/custom-parts";
import type { ModelServices } from "../models/resilience/model-services.ts";
import type { OllamaService } from "../models/ollama/service.ts";
import type { ModelRegistry } from "../models/registry/registry.ts";
import type { EditablePrompts } from "../prompts/open-prompts.ts";
import type { Runs } from "@millrace/engine/runs/runs";
import { scopeFor } from "../sessions/owner-scope.ts";
import type { Guard } from "../sessions/guard.ts";
import type { ManualTools } from "../sessions/manual-run.ts";
import { createSharedLocks } from "../sessions/shared-locks.ts";
import type { Storage } from "@millrace/engine/storage/storage";
import { adminName, ownerOfUser, type ApiKey } from "@millrace/engine/config/api-keys";
import type { Operations } from "../tools/undo/operations.ts";
import type { FileWatch } from "../watching/file-watch.ts";
import { mountCustomApp, withoutResources } from "./custom-app.ts";
import type { HttpApp, HttpEnvironment, HttpServices, SharedServices } from "./environment.ts";
import { answerError } from "./errors.ts";
import { contentTypes, gate } from "./middleware/gate.ts";
import { identifyCaller, type Caller } from "./middleware/identify.ts";
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
const resources: readonly ((shared: SharedServices) => HttpApp)[] = [
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

/**
 * The whole HTTP API; it does not listen. One app serves all callers: each request gets the services of its caller's scope,
 * and routes have no other way to sessions and runs.
 */
export function createApi(parts: ServerParts): HttpApp {
  const { config, custom, logger } = parts;
  const { host, allowedHosts, corsOrigins, localPages, apiKeys } = config;
  const { auth, cors } = custom;
  const app: HttpApp = new Hono<HttpEnvironment>();
  app.onError((error, context) =>
    openAiPaths.test(context.req.path)
      ? answerOpenAiError(error, context, logger)
      : answerError(error, context, logger),
  );
  app.notFound((context) => context.text("404 Not Found", 404));
  app.use(requestBasics(config.bodyLimit));
  app.use(limitRequests(config.maxRequests));
  app.use(gate({ host, allowedHosts, corsOrigins, cors, localPages, onRefused: logRefusedOrigins(logger) }));
  app.use(identifyCaller({ apiKeys, auth, host, origins: [...corsOrigins, ...(cors?.allow_origins ?? [])] }));
  mountCustomApp(app, custom.httpApp);
  // After it: routes of users may stream what looks like a plain answer.
  app.use(packAnswers);
  app.use(contentTypes());
  if (custom.disabled.length > 0) app.use(withoutResources(custom.disabled));
  const shared = sharedServices(parts);
  const servicesFor = createServices(parts, shared);
  app.use(async (context, next) => {
    context.set("scope", servicesFor(context.get("caller")));
    return next();
  });
  for (const routes of resources) app.route("/", routes(shared));
  app.route("/", openApiRoutes(app, apiKeys.length > 0));
  return app;
}

/** What of the parts does not belong to owners; the rest is reached through a scope only. */
function sharedServices({ custom, ...parts }: ServerParts): SharedServices {
  const { config, graphs, logger, prompts, tokens, documentation } = parts;
  const { agents, models, modelServices, ollama, settings, files } = parts;
  return {
    config,
    graphs,
    logger,
    prompts,
    tokens,
    documentation,
    agents,
    models,
    modelServices,
    ollama,
    settings,
    files,
    interfaces: custom.interfaces,
  };
}

/** Refused pages that the log names: each once, and anybody can make up any number of them. */
const mostRefused = 100;

/** Logs a page that may not call, the first time it tries: its own user is told nothing that would help. */
function logRefusedOrigins(logger: Logger): (origin: string) => void {
  const known = new Set<string>();
  return (origin) => {
    if (known.has(origin) || known.size >= mostRefused) return;
    known.add(origin);
    const setting = "MILLRACE_CORS_ORIGINS, or http.cors.allow_origins of langgraph.json";
    logger.warn({ origin, allowed_by: setting }, "origin_refused");
  };
}

/** Makes the services of a request by its caller. */
function createServices(parts: ServerParts, shared: SharedServices): (caller: Caller) => HttpServices {
  const { storage, runs, operations, manual, config, custom } = parts;
  const scopeParts = { storage, runs, operations, manual, locks: createSharedLocks() };
  const make = (caller: Caller): HttpServices => {
    const owner = ownerOf(caller);
    const guard = guardOf(caller, custom.auth);
    const crons =
      guard === undefined ? ownCrons(storage, owner) : guardedCrons(ownCrons(storage, null, owner), storage, guard);
    const mayAdminister = caller.kind !== "user" && administers(owner, config.apiKeys);
    return { ...shared, ...scopeFor(scopeParts, owner, guard), crons, mayAdminister };
  };
  // Without keys all callers are one.
  const forAnyone = make({ kind: "anyone" });
  return (caller) => (caller.kind === "anyone" ? forAnyone : make(caller));
}

/** What all owners share is changed by the owner `admin`, by the only one there is, or by anyone where there are no keys. */
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
    case "nobody":
      return "";
  }
}

/** The rules for a user of `auth.path`; other callers are told apart by their keys alone. */
function guardOf(caller: Caller, auth: CustomAuth | undefined): Guard | undefined {
  return caller.kind === "user" && auth !== undefined
    ? { context: caller.context, authorize: auth.authorize }
    : undefined;
}
