import { realpathSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createCallBack } from "./callbacks/callback.ts";
import { callbacks } from "./callbacks/index.ts";
import { agentGraphs, agentRuns } from "./agent-runs/extension.ts";
import type { Config } from "@millrace/engine/config/config";
import { openDocumentation } from "./context/documentation/open-documentation.ts";
import { startClockwork } from "@millrace/engine/crons/clockwork";
import { hiddenPlaces, prepareDataFolder, prepareFolders } from "@millrace/engine/process/folders";
import { createTokenCounter } from "./context/tokens/token-counter.ts";
import { countText } from "./context/tokens/tokens.ts";
import { describeAhead } from "@millrace/engine/graphs/describe-ahead";
import { loadGraphs, type Graphs } from "@millrace/engine/graphs/load";
import { agentHttp } from "./http/agent-http.ts";
import { createApi } from "@millrace/engine/http/app";
import type { SharedServices } from "@millrace/engine/http/environment";
import { cronRequest } from "@millrace/engine/http/requests/cron-request";
import { listen } from "@millrace/engine/http/listen";
import { project } from "@millrace/engine/http/protocol/events/projections";
import { webhookBody } from "@millrace/engine/http/requests/webhook-body";
import { createLogger, type Logger } from "@millrace/engine/logger";
import { openCustomParts } from "@millrace/engine/manifest/custom-parts";
import { keepGlobals } from "@millrace/engine/manifest/own-globals";
import { bindSdkClient } from "@millrace/engine/manifest/sdk-globals";
import { openSettings } from "./live-settings/live-settings.ts";
import { withLiveSettings } from "./loop/live-services.ts";
import { openAgents } from "./loop/own-services.ts";
import type { RunServices } from "./loop/services.ts";
import { openModelParts } from "./models/open-model-parts.ts";
import type { ModelRegistry } from "./models/registry/registry.ts";
import { openPrompts } from "./prompts/open-prompts.ts";
import { runProgram } from "@millrace/engine/process/program";
import { type RunsOptions, runLimits } from "@millrace/engine/runs/options";
import { Runs } from "@millrace/engine/runs/runs";
import { WebhookSender } from "@millrace/engine/runs/webhook-sender";
import { createManualTools } from "./sessions/manual/manual-run.ts";
import { startTitleWriter } from "./sessions/overview/title-writer.ts";
import { withDefaultTimes } from "@millrace/engine/storage/default-times";
import { passStoreQueues } from "@millrace/engine/storage/items/graph-store";
import { createSqliteStorage, type SqliteStorage } from "@millrace/engine/storage/sqlite/storage";
import type { Storage } from "@millrace/engine/storage/storage";
import { createLocks } from "./tools/runtime/locks.ts";
import { openMcpSources } from "./tools/mcp/mcp-source.ts";
import { createChangedFiles } from "./context/workspace/changed-files.ts";
import { createOperations, type Operations } from "./tools/undo/operations.ts";
import { callbackHook, createToolCounter, toolLog } from "./tools/runtime/hooks.ts";
import { promptParts } from "./toolkits/composition.ts";
import { builtInTools, enabledToolkits } from "./toolkits/enabled-toolkits.ts";
import { openToolkits, withToolkitStores } from "./toolkits/open-toolkits.ts";
import { Shell } from "./tools/shell/shell.ts";
import { createTracing, skipIdleTracing } from "@millrace/engine/tracing";

/** A server that listens. */
export interface RunningServer {
  /** Where it listens, without a slash at the end. */
  url: string;
  /** Whether no run walks. */
  isIdle(): boolean;
  /** Takes no new runs, parks the running ones, at the latest after `drainSeconds`, then closes everything. */
  close(): Promise<void>;
}

/** Milliseconds that spans get to leave; a LangSmith server that is away must not hold up a stop. */
const traceFlushMilliseconds = 2000;

/**
 * Puts the program together and listens. What a former process has left unfinished is taken up before the first request
 * is answered. Throws an `AppError` that names the thing and the remedy: a port in use, a folder that cannot be used, a
 * database that cannot be read.
 */
export async function startServer(
  config: Config,
  logger: Logger = createLogger(config.logLevel),
): Promise<RunningServer> {
  const workspace = prepareFolders(config);
  const port = await takePort(config);
  try {
    return await startAt(port, config, workspace, logger);
  } catch (error) {
    await port.close();
    throw error;
  }
}

/** Everything behind the port. */
async function startAt(port: Port, config: Config, workspace: string, logger: Logger): Promise<RunningServer> {
  const toolSources = openMcpSources(config, workspace, logger);
  const opened = openStorage(config, workspace);
  try {
    const { custom, storage, graphs } = await openUserParts(config, opened, logger);
    const prompts = openPrompts(config.dataDir, promptParts(), logger, countText);
    const { callBack, counter, hooks } = openWatchers(config, logger);
    const documentation = openDocumentation({ ...config, workspace }, Object.keys(builtInTools()), logger);
    const settings = openSettings(config, logger);
    const forModels = { custom, items: opened.items, prompts, logger };
    const { models, ollama, modelServices, lentModel, webOf } = openModelParts(config, forModels);
    const changedFiles = createChangedFiles();
    const toolkitParts = openToolkits({ config, workspace, logger, storage, changedFiles });
    const { services: toolkitServices } = toolkitParts;
    const parts = { documentation: documentation.sources, prompts, changedFiles, toolkitServices };
    const lent = { ...lentServices(config, storage, workspace, logger), ...parts };
    const services = withLiveSettings({ ...lent, ...lentModel, hooks, toolSources, callBack }, settings, webOf);
    const titles = startTitleWriter({ ...services, storage, model: () => models.roles().titles, prompts, logger });
    const tracing = openTracing(config, models);
    const webhooks = new WebhookSender({ store: storage.webhooks, settings: config.webhooks, logger });
    const told = watchersOf({ tracing, titles, webhooks });
    const limits = runLimits(config, custom.auth);
    const extension = agentRuns({ storage, logger, services: () => services, callBack });
    const runs = new Runs({ storage, graphs, logger, extension, ...limits, ...told });
    const operations = openOperations(storage, services, runs);
    const manual = createManualTools({ services, storage, runs, graphs, counter });
    const tokens = createTokenCounter(logger);
    const { agents, toolkits } = lent;
    const forModelRoutes = { models, modelServices, ollama, tokens, settings };
    const forRoutes = { ...forModelRoutes, prompts, documentation, agents, toolkits, toolkitServices };
    const addAgent = (shared: SharedServices) => agentHttp(shared, { ...forRoutes, operations, manual });
    const api = createApi({ config, storage, runs, graphs, custom, logger, extension: addAgent });
    const unbindClient = bindSdkClient(port.url);
    await takeUp(runs, logger);
    const learning = describeAhead(graphs, config, logger);
    port.admit(api);
    const toRequest = cronRequest.bind(undefined, { runnable: storage, graphs });
    const clockwork = startClockwork({ config, storage, runs, toRequest, logger });
    webhooks.start(port.url);
    ollama.lookSoon();
    toolkitParts.start();
    return {
      url: port.url,
      isIdle: () => runs.isIdle(),
      close: async () => {
        ollama.close();
        unbindClient();
        await Promise.all([learning.stop(), clockwork.stop(), titles.stop(), webhooks.stop(), toolkitParts.stop()]);
        // While runs finish, their readers stay and new runs are refused with 503.
        await runs.drain(config.drainSeconds * 1_000);
        await port.close();
        await storage.close();
        await Promise.all([tokens, ...toolSources, lent.shell, toolkitParts].map(async (part) => part?.close()));
        await tracing?.flush(traceFlushMilliseconds);
      },
    };
  } catch (error) {
    await opened.close();
    throw error;
  }
}

/** What the modules of a user bring, which are loaded here and run in this process from now on. */
async function openUserParts(config: Config, opened: Storage, logger: Logger) {
  const changedGlobals = keepGlobals();
  const custom = await openCustomParts(config.graphs, logger);
  const storage = withDefaultTimes(opened, custom.times);
  const graphs = await openGraphs(config, storage, logger);
  const globals = changedGlobals();
  if (globals !== undefined) logger.warn(globals, "globals_changed");
  return { custom, storage, graphs };
}

/** A port that is listened on; requests wait until there is something that answers them. */
interface Port {
  url: string;
  admit: (api: ReturnType<typeof createApi>) => void;
  close: () => Promise<void>;
}

/**
 * The port is taken first, so that a second start by mistake touches no run, and no module of a user has it; requests
 * wait until they are admitted.
 */
async function takePort(config: Config): Promise<Port> {
  const { promise, resolve: admit } = Promise.withResolvers<ReturnType<typeof createApi>>();
  const listener = await listen(config, (request, bindings) => promise.then((api) => api.fetch(request, bindings)));
  return { ...listener, admit };
}

async function takeUp(runs: Runs, logger: Logger): Promise<void> {
  const { resumed } = await runs.recover();
  if (resumed > 0) logger.info({ resumed }, "runs_resumed");
}

/** What tools have changed; an undo is told to whoever follows the session. */
function openOperations(storage: Storage, { locks, workspace }: RunServices, runs: Runs): Operations {
  return createOperations({
    store: storage.operations,
    locks,
    workspace,
    onUndone: (id, { operation_id, path, content, updated_at: time }) =>
      runs.tell(id, { type: "operation_undone", operation_id, path, content, time }),
  });
}

/** The graphs that can be served; of the others the log says why not. */
async function openGraphs(config: Config, storage: Storage, logger: Logger): Promise<Graphs> {
  const graphs = await loadGraphs(config.graphs, storage.checkpointer, config.loadSeconds * 1_000, agentGraphs);
  for (const problem of graphs.problems) logger.error(problem, "graph_not_served");
  const replaced = graphs.ids().filter((id) => graphs.get(id).store !== undefined);
  if (replaced.length > 0) logger.info({ graphs: replaced }, "stores_of_graphs_replaced");
  return graphs;
}

/** Who is told what runs do, and of their ends. */
function watchersOf(parts: {
  tracing: ReturnType<typeof createTracing>;
  titles: ReturnType<typeof startTitleWriter>;
  webhooks: WebhookSender;
}): Pick<RunsOptions, "tracer" | "tracerFor" | "feedbackUrls" | "onOver" | "project" | "webhookBody"> {
  const { tracing, titles, webhooks } = parts;
  return {
    webhookBody,
    project,
    // It has what runs need of it under their own names.
    ...tracing,
    onOver: (run) => {
      titles.consider(run);
      if (run.kwargs.webhook !== undefined) webhooks.wake();
    },
  };
}

function openTracing(config: Config, models: ModelRegistry): ReturnType<typeof createTracing> {
  const tracing = createTracing(config, () => models.keys());
  if (tracing === undefined) skipIdleTracing();
  return tracing;
}

/** Who watches what happens, and changes nothing: callbacks, the log and the statistics of tools. */
function openWatchers({ toolHooks }: Config, logger: Logger) {
  const onProblem: Parameters<typeof createCallBack>[1] = (problem) => logger.warn(problem, "callback_failed");
  const callBack = callbacks.length === 0 ? undefined : createCallBack(callbacks, onProblem);
  const counter = createToolCounter();
  const watching = callBack === undefined ? [] : [callbackHook(callBack)];
  const hooks = toolHooks ? [toolLog(logger), ...watching, counter.hook] : [];
  return { callBack, counter, hooks };
}

function lentServices(
  config: Config,
  storage: Storage,
  workspace: string,
  logger: Logger,
): Omit<RunServices, "loadModel" | "prompts" | "toolkitServices"> & Required<Pick<RunServices, "agents" | "toolkits">> {
  return {
    ledger: storage.ledger,
    workspace,
    toolkits: enabledToolkits(config.toolkits),
    ownerTools: config.ownerTools,
    shell: new Shell({ sandbox: config.sandbox, hidden: hiddenPlaces(config) }),
    grants: (sessionId) => storage.approvals.grants(sessionId),
    operations: storage.operations,
    requests: storage.requests,
    onHookProblem: (hook, error) => logger.warn({ err: error, hook }, "tool_hook_failed"),
    locks: createLocks(),
    defaultModel: config.model,
    contextLimit: config.contextLimit,
    agents: openAgents(workspace, logger),
    logger,
  };
}

/** Everything that outlives the process is in one file, in the data folder or where conversations were said to be. */
function openStorage(config: Config, workspace: string): SqliteStorage {
  const { dataDir, conversations } = config;
  const { folder = dataDir, cachedSessions, cacheSeconds } = conversations;
  if (folder !== dataDir) prepareDataFolder(folder, workspace, "CONVERSATION_STORAGE_PATH");
  passStoreQueues();
  const limits = { threads: cachedSessions, seconds: cacheSeconds };
  return withToolkitStores(config, createSqliteStorage(join(folder, "millrace.db"), undefined, limits));
}

/** The program: serves by the environment until it is told to stop. `defaults` stand for variables that nobody has set. */
export function serve(defaults?: Record<string, string>): Promise<void> {
  return runProgram(startServer, defaults);
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) await serve();
