import { realpathSync } from "node:fs";
import { homedir } from "node:os";
import { fileURLToPath } from "node:url";
import type { Config } from "@millrace/engine/config/config";
import { createLogger, type Logger } from "@millrace/engine/logger";
import { runProgram } from "@millrace/engine/process/program";
import type { Runs } from "@millrace/engine/runs/runs";
import {
  startServer as startEngine,
  type OpenedExtension,
  type RunningServer,
  type ServerExtension,
  type ServerParts,
} from "@millrace/engine/server";
import type { Storage } from "@millrace/engine/storage/storage";
import { chooseModel } from "@millrace/models/choose-model";
import { embeddingRole } from "@millrace/models/embeddings";
import { createModelLoader } from "@millrace/models/load-model";
import { openOllama, reportToOllama } from "@millrace/models/ollama/open-ollama";
import { openItemIndex } from "@millrace/models/open-item-index";
import { openModels } from "@millrace/models/registry/registry";
import { ModelServices } from "@millrace/models/resilience/model-services";
import { offline } from "@millrace/offline/offline";
import { agentGraphs, agentRuns } from "./agent-runs/agent-run.ts";
import { type AgentMetrics, createAgentMetrics } from "./agent-runs/agent-metrics.ts";
import { createCallbackInvoker } from "./callbacks/callback.ts";
import { callbacks } from "./callbacks/index.ts";
import { rulesDocument } from "./context/documentation/rules-document.ts";
import { createTokenCounter } from "./context/tokens/token-counter.ts";
import { countText } from "./context/tokens/tokens.ts";
import { createChangedFiles } from "./context/workspace/changed-files.ts";
import { agentHttp } from "./http/agent-http.ts";
import { buildWhenIdle, openConsoleBuild } from "./http/console/console-build.ts";
import { openSettings } from "./live-settings/live-settings.ts";
import { withLiveSettings } from "./loop/live-services.ts";
import { openAgents } from "./loop/own-services.ts";
import type { SharedRunServices } from "./loop/services.ts";
import { openPrompts } from "./prompts/open-prompts.ts";
import type { Prompts } from "./prompts/prompts.ts";
import { describeToolsBy } from "./prompts/templates/xml-tools.ts";
import { createRuleFolders } from "./user-rules/rule-folders.ts";
import { createManualTools } from "./sessions/manual/manual-run.ts";
import { startTitleWriter } from "./sessions/overview/title-writer.ts";
import { promptParts } from "./toolkits/composition.ts";
import { enabledToolkits } from "./toolkits/enabled-toolkits.ts";
import { openToolkits, withToolkitStores } from "./toolkits/open-toolkits.ts";
import { callbackHook, createToolCounter, toolLog } from "./tools/runtime/hooks.ts";
import { createLocks } from "./tools/runtime/locks.ts";
import { createOperations, type Operations } from "./tools/undo/operations.ts";

/** The agent as an extension of the engine. */
const agent: ServerExtension = {
  graphs: agentGraphs,
  // Keys are each server's own.
  sharedFiles: ["settings.json", "models.yaml", "verified-models.json", "prompts/"],
  stores: withToolkitStores,
  open: openAgent,
};

/** Starts the engine with the agent. `about` is what else a start reports: the console and the model. */
export async function startServer(
  config: Config,
  logger: Logger = createLogger(config.logLevel),
): Promise<RunningServer & { about: Record<string, string> }> {
  const { model, why } = await chooseModel(config);
  const server = await startEngine(model === config.model ? config : { ...config, model }, logger, agent);
  return {
    ...server,
    about: { ...(config.console && { console: `${server.url}/console/` }), model: `${model} (${why})` },
  };
}

/** Creates the agent's parts and connects them. */
function openAgent({ config, workspace, logger, storage, items, graphs, custom }: ServerParts): OpenedExtension {
  const prompts = openPrompts(config.dataDir, promptParts(), logger, countText);
  const metrics = createAgentMetrics();
  const { invokeCallbacks, counter, hooks } = openWatchers(config, logger, metrics);
  const rules = createRuleFolders({ workspace, home: homedir(), logger });
  const settings = openSettings(config, logger);
  const { models, ollama, modelServices, loadModel } = openModelParts(config, prompts, logger, metrics, storage);
  const index = openItemIndex(custom.index, models, logger);
  if (index !== undefined) items.useIndex(index);
  const changedFiles = createChangedFiles();
  const kept = { tasks: storage.tasks, sessions: storage.sessions, items, textIndex: storage.textIndex };
  const embedding = embeddingRole(models);
  const forToolkits = { config, settings, models, embedding, workspace, logger, changedFiles };
  const toolkitParts = openToolkits({ ...forToolkits, storage: { ...kept, cluster: storage.cluster } });
  const { services: toolkitServices } = toolkitParts;
  const lent = {
    ...lentServices(config, storage, workspace, logger),
    loadModel,
    models,
    toolSources: toolkitParts.toolSources,
    documents: [...toolkitParts.documents, rulesDocument(rules)],
    prompts,
    changedFiles,
    toolkitServices,
  };
  const services = withLiveSettings({ ...lent, hooks, invokeCallbacks, onUsage: metrics.onUsage }, settings);
  const titles = startTitleWriter({ ...services, storage, model: () => models.roles().titles, prompts, logger });
  const tokens = createTokenCounter(logger);
  const { agents, toolkits } = lent;
  const consoleBuild = config.console ? openConsoleBuild(logger) : undefined;
  let runs: Runs | undefined;
  let endConsole: (() => void) | undefined;
  const forRuns = { storage, logger, services, invokeCallbacks, onConversation: titles.consider };
  const forModelRoutes = { models, modelServices, ollama, tokens, settings, exchangeFiles: storage.files?.exchange };
  const forRoutes = { ...forModelRoutes, prompts, rules, agents, toolkits, toolkitServices };
  return {
    runs: agentRuns({ ...forRuns, forget: (id) => toolkitParts.forget(id) }),
    metrics: () => metrics.families(modelServices),
    secrets: () => models.keys(),
    http: (opened) => {
      runs = opened;
      const operations = openOperations(storage, services, opened);
      const manual = createManualTools({ services, storage, stores: storage.manualCalls, runs, graphs, counter });
      return (shared) => agentHttp(shared, { ...forRoutes, operations, manual }, consoleBuild);
    },
    start: () => {
      ollama.lookSoon();
      toolkitParts.start();
      endConsole = consoleBuild && buildWhenIdle(consoleBuild, () => runs?.isIdle() ?? true);
    },
    stop: async () => {
      endConsole?.();
      ollama.close();
      await Promise.all([titles.stop(), toolkitParts.stop()]);
    },
    close: async () => {
      await Promise.all([tokens, toolkitParts].map(async (part) => part?.close()));
    },
  };
}

/** The model registry, the local Ollama service, and the services around model requests. */
function openModelParts(
  config: Config,
  prompts: Prompts,
  logger: Logger,
  metrics: AgentMetrics,
  { notifications }: Pick<Storage, "notifications">,
) {
  const models = openModels(config, logger, { offline });
  const ollama = openOllama(models, logger, notifications);
  const modelServices = new ModelServices({
    onEnd: (model, error) => {
      reportToOllama(ollama)(model, error);
      metrics.onModelCall(model, error);
    },
  });
  const sources = { models, describeTools: describeToolsBy(prompts), services: modelServices };
  return { models, ollama, modelServices, loadModel: createModelLoader(config, sources) };
}

/** Operations of tools; an undo sends an event to the session's readers. */
function openOperations(
  storage: Storage,
  { locks, workspace, toolkitServices }: SharedRunServices,
  runs: Runs,
): Operations {
  return createOperations({
    store: storage.manualCalls.operations,
    confirm: storage.manualCalls.ledger.confirm,
    locks,
    workspace,
    toolkitServices,
    onUndone: (id, { operation_id, path, content, updated_at: time }) =>
      runs.notifySession(id, { type: "operation_undone", operation_id, path, content, time }),
  });
}

/** Observers that change nothing: callbacks, the tool log and tool statistics. */
function openWatchers({ toolHooks }: Config, logger: Logger, metrics: AgentMetrics) {
  const onProblem: Parameters<typeof createCallbackInvoker>[1] = (problem) => logger.warn(problem, "callback_failed");
  const invokeCallbacks = callbacks.length === 0 ? undefined : createCallbackInvoker(callbacks, onProblem);
  const counter = createToolCounter();
  const watching = invokeCallbacks === undefined ? [] : [callbackHook(invokeCallbacks)];
  const hooks = toolHooks ? [toolLog(logger), ...watching, counter.hook, metrics.hook] : [];
  return { invokeCallbacks, counter, hooks };
}

function lentServices(
  config: Config,
  storage: Storage,
  workspace: string,
  logger: Logger,
): Omit<SharedRunServices, "loadModel" | "prompts" | "toolkitServices"> &
  Required<Pick<SharedRunServices, "agents" | "toolkits">> {
  return {
    ledger: storage.ledger,
    workspace,
    toolkits: enabledToolkits(config.toolkits),
    ownerTools: config.ownerTools,
    grants: (sessionId) => storage.approvals.grants(sessionId),
    onHookProblem: (hook, error) => logger.warn({ err: error, hook }, "tool_hook_failed"),
    locks: createLocks(storage.pathLocks && { workspace, locks: storage.pathLocks }),
    defaultModel: config.model,
    contextLimit: config.contextLimit,
    agents: openAgents(workspace, logger),
    logger,
  };
}

/** The program: serves until it is signalled to stop. `defaults` replace unset environment variables. */
export function serve(defaults?: Record<string, string>): Promise<void> {
  return runProgram(startServer, defaults);
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) await serve();
