import { join } from "node:path";
import type { Config } from "./config/config.ts";
import { unknownOwners } from "./config/owner-limits.ts";
import { clientKeys } from "./config/secret-files.ts";
import { startClockwork } from "./crons/clock.ts";
import { inferAhead } from "./graphs/schemas/infer-schemas.ts";
import type { GraphExtension } from "./graphs/served-graph.ts";
import { loadGraphs, type Graphs } from "./graphs/load.ts";
import { createApi } from "./http/app.ts";
import { type HttpExtension, type SharedServices, versions } from "./http/environment.ts";
import { listen } from "./http/listen.ts";
import { project } from "./http/protocol/events/messages.ts";
import { cronRequest } from "./http/requests/cron-shapes.ts";
import { webhookBody } from "./http/requests/runs.ts";
import { createLogger, type Logger } from "./logger.ts";
import { openCustomParts, type CustomParts } from "./manifest/custom-parts.ts";
import { bindSdkClient, watchGlobals } from "./manifest/user-module.ts";
import type { MetricFamily } from "./metrics/families.ts";
import { openMetrics } from "./metrics/metrics.ts";
import { prepareDataFolder, prepareFolders } from "./process/folders.ts";
import { withSharedFolder } from "./process/shared-folder.ts";
import { answerEarly, openHealth } from "./process/health.ts";
import { type RunExtension, runLimits } from "./runs/options.ts";
import { Runs } from "./runs/runs.ts";
import { WebhookSender } from "./runs/webhook-sender.ts";
import { ServerFeed } from "./sessions/overview/server-feed.ts";
import { withDefaultTimes } from "./storage/default-times.ts";
import { bypassStoreQueues } from "./storage/items/store-items.ts";
import { createSqliteStorage } from "./storage/sqlite/storage.ts";
import type { OpenedStorage, Storage } from "./storage/storage.ts";
import { openTelemetry } from "./telemetry/open-telemetry.ts";
import { createTracing, skipIdleTracing } from "./tracing.ts";

/** A listening server. */
export interface RunningServer {
  /** Its URL, without a trailing slash. */
  url: string;
  /** The served graphs, and the configured ones that failed to load. */
  graphs: string[];
  problems: Graphs["problems"];
  /** Whether no run is active. */
  isIdle(): boolean;
  /** The number of active runs. */
  walking(): number;
  /**
   * Calls back when a later version has made of the database what this one cannot use, and all runs are given back: the server
   * is to be closed. There is one listener.
   */
  onOutdated(listener: () => void): void;
  /** Accepts no new runs, parks the active ones after at most `drainSeconds`, then closes everything. */
  close(): Promise<void>;
}

/** What exists when the agent is opened: no run has started, and no request is answered yet. */
export interface ServerParts {
  config: Config;
  /** Absolute, links resolved. */
  workspace: string;
  logger: Logger;
  storage: Storage;
  /** The store of items, outside any caller's scope. */
  items: Storage["items"];
  graphs: Graphs;
  /** What `langgraph.json` adds besides graphs. */
  custom: CustomParts;
}

/** An agent served next to users' graphs. */
export interface ServerExtension {
  graphs: GraphExtension;
  /** Files and folders of the data folder that the servers of one database share; see `withSharedFolder`. */
  sharedFiles: readonly string[];
  /** Replaces the server's stores with its own. */
  stores(config: Config, storage: OpenedStorage): OpenedStorage;
  open(parts: ServerParts): OpenedExtension;
}

/** An opened agent. */
export interface OpenedExtension {
  runs: RunExtension;
  /** Its own metrics, for `/metrics`. */
  metrics?(): readonly MetricFamily[];
  /** Keys in use, to be redacted in traces. */
  secrets(): readonly string[];
  /** Its part of the API, created once runs exist. */
  http(runs: Runs): (shared: SharedServices) => HttpExtension;
  /** The server is ready. */
  start(): void;
  /** The server stops: ends streams to clients. Runs still finish. */
  stop(): Promise<void>;
  /** All runs have stopped, and the storage is closed. */
  close(): Promise<void>;
}

/** Milliseconds to flush spans and metrics; an unreachable collector must not delay a stop. */
const traceFlushMilliseconds = 2000;

/**
 * Assembles the server and listens. Unfinished runs of a former process are recovered before the first request is
 * answered. Throws an `AppError` with the cause and the remedy: a port in use, an unusable folder, an unreadable
 * database.
 */
export async function startServer(
  config: Config,
  logger: Logger = createLogger(config.logLevel),
  extension?: ServerExtension,
): Promise<RunningServer> {
  config.secretFiles.logTo(logger);
  const workspace = prepareFolders(config);
  const port = await takePort(config);
  try {
    return await startAt(port, { config, workspace, logger }, extension);
  } catch (error) {
    await port.close();
    throw error;
  }
}

/** Everything behind the port. */
async function startAt(
  port: Port,
  { config, workspace, logger }: Pick<ServerParts, "config" | "workspace" | "logger">,
  extension: ServerExtension | undefined,
): Promise<RunningServer> {
  const opened = await openStorage(config, { workspace, logger }, extension);
  try {
    const { custom, storage, graphs } = await openUserParts(config, { opened, logger, extension: extension?.graphs });
    const agent = extension?.open({ config, workspace, logger, storage, items: opened.items, graphs, custom });
    const apiKeys = clientKeys(config, logger);
    for (const unknown of unknownOwners(config, apiKeys(), custom.auth !== undefined)) {
      logger.warn(unknown, "unknown_owner");
    }
    const tracing = createTracing(config, () => [...(agent?.secrets() ?? []), ...apiKeys().map(({ key }) => key)]);
    if (tracing === undefined) skipIdleTracing();
    const telemetry = await openTelemetry(config.telemetry, versions.millrace, logger);
    const webhooks = openWebhooks(config, storage, logger);
    const webhookParts = { webhookBody, onWebhook: () => webhooks.wake(), project };
    const limits = { ...runLimits(config, custom.auth), ...tracing, ...telemetry, workspace };
    const runs = new Runs({ storage, graphs, logger, extension: agent?.runs, ...limits, ...webhookParts });
    const feed = new ServerFeed(storage);
    const { health, metrics } = openObservation(config, workspace, { opened, graphs, runs, feed, agent, logger });
    const drained = drainWhenOutdated(config, { opened, runs, logger });
    telemetry?.exportMetrics(() => metrics.families());
    const forRequests = { config, apiKeys, storage, runs, feed, graphs, custom, logger, health, metrics };
    const api = createApi({ ...forRequests, extension: agent?.http(runs) });
    const unbindClient = bindSdkClient(port.url);
    const { resumed } = await runs.recover();
    if (resumed > 0) logger.info({ resumed }, "runs_resumed");
    const learning = inferAhead(graphs, config, logger);
    port.admit(api);
    const toRequest = cronRequest.bind(undefined, { runnable: storage, graphs });
    const clockwork = startClockwork({ config, storage, runs, toRequest, logger });
    webhooks.start(port.url);
    agent?.start();
    return {
      url: port.url,
      graphs: graphs.ids(),
      problems: graphs.problems,
      isIdle: () => runs.isIdle(),
      walking: () => runs.numbers().running,
      onOutdated: (listener) => void drained.then(listener),
      close: async () => {
        health.stopping();
        unbindClient();
        await Promise.all([learning.stop(), clockwork.stop(), agent?.stop(), webhooks.stop()]);
        // While runs finish, their readers stay connected and new runs are refused with 503.
        await runs.drain(config.drainSeconds * 1_000);
        feed.close();
        metrics.close();
        await port.close();
        await storage.close();
        await agent?.close();
        await Promise.all([tracing?.flush(traceFlushMilliseconds), telemetry?.close(traceFlushMilliseconds)]);
      },
    };
  } catch (error) {
    await opened.close();
    throw error;
  }
}

function openWebhooks({ webhooks: settings }: Config, { webhooks: store, notifications }: Storage, logger: Logger) {
  return new WebhookSender({ store, settings, logger, isShared: notifications.isShared });
}

/** The monitored parts, all open as long as the server. */
interface Observed {
  opened: OpenedStorage;
  graphs: Graphs;
  runs: Runs;
  feed: ServerFeed;
  agent: OpenedExtension | undefined;
  logger: Logger;
}

/** Lets go of all runs where a later version has changed the database; resolves when that has happened. */
function drainWhenOutdated(
  { drainSeconds }: Config,
  { opened: { cluster }, runs, logger }: Pick<Observed, "opened" | "runs" | "logger">,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  cluster.onOutdated(() => {
    logger.error({ server: cluster.id }, "server_outdated");
    void runs.drain(drainSeconds * 1_000).then(resolve);
  });
  return promise;
}

/** Whether the server is ready, and its metrics. */
function openObservation(config: Config, workspace: string, observed: Observed) {
  const { opened, graphs, runs, feed, agent } = observed;
  const health = openHealth({
    graphs: graphs.ids().length,
    problems: graphs.problems,
    probe: () => opened.probe(),
    leaseProblem: () => opened.cluster.problem,
    folders: [config.dataDir, workspace],
  });
  const metrics = openMetrics({
    version: versions.millrace,
    runs: () => runs.numbers(),
    commits: opened.commitTimes,
    databaseBytes: () => opened.sizes(),
    feedReaders: () => feed.readers,
    servers: () => (opened.notifications.isShared ? opened.cluster.serverCount : undefined),
    ofAgent: () => agent?.metrics?.() ?? [],
  });
  return { health, metrics };
}

/** Loads the user's modules, which run in this process from now on. */
async function openUserParts(
  config: Config,
  { opened, logger, extension }: { opened: Storage; logger: Logger; extension: GraphExtension | undefined },
): Promise<Pick<ServerParts, "custom" | "storage" | "graphs">> {
  const changedGlobals = watchGlobals();
  const custom = await openCustomParts(config.graphs, logger);
  const storage = withDefaultTimes(opened, custom.times);
  const graphs = await loadGraphs(config.graphs, storage.checkpointer, config.loadSeconds * 1_000, extension);
  for (const problem of graphs.problems) logger.error(problem, "graph_not_served");
  if (graphs.ids().length === 0) logger.error({ file: config.graphs }, "no_graph_served");
  const replaced = graphs.ids().filter((id) => graphs.get(id).store !== undefined);
  if (replaced.length > 0) logger.info({ graphs: replaced }, "stores_of_graphs_replaced");
  const globals = changedGlobals();
  if (globals !== undefined) logger.warn(globals, "globals_changed");
  return { custom, storage, graphs };
}

/** A port being listened on; requests wait until a handler is set. */
interface Port {
  url: string;
  admit: (api: ReturnType<typeof createApi>) => void;
  close: () => Promise<void>;
}

/**
 * Listens first, so that a second start by mistake touches no run, and no user module takes the port; requests wait
 * until the server is ready.
 */
async function takePort(config: Config): Promise<Port> {
  const { promise, resolve } = Promise.withResolvers<ReturnType<typeof createApi>>();
  const listener = await listen(config, (request, bindings) => {
    return answerEarly(new URL(request.url).pathname) ?? promise.then((api) => api.fetch(request, bindings));
  });
  const admit = (api: ReturnType<typeof createApi>): void => {
    resolve(api);
    listener.answerBy(api.fetch);
  };
  return { ...listener, admit };
}

/**
 * Everything durable is in the configured PostgreSQL database, else in one file in the data folder or the conversations
 * folder.
 */
async function openStorage(
  config: Config,
  { workspace, logger }: Pick<ServerParts, "workspace" | "logger">,
  extension: ServerExtension | undefined,
): Promise<OpenedStorage> {
  const { dataDir, conversations, database, databaseListenUrl: listenUrl, leaseSeconds, codeVersion } = config;
  const { folder = dataDir, cachedSessions, cacheSeconds } = conversations;
  if (folder !== dataDir) prepareDataFolder(folder, workspace, "CONVERSATION_STORAGE_PATH");
  bypassStoreQueues();
  const limits = { threads: cachedSessions, seconds: cacheSeconds };
  const options = { limits, leaseSeconds, codeVersion: codeVersion ?? versions.millrace, listenUrl };
  // The PostgreSQL driver is loaded only if used.
  const storage =
    database === undefined
      ? createSqliteStorage(join(folder, "millrace.db"), undefined, limits)
      : await (
          await import("./storage/postgres/storage.ts")
        ).createPostgresStorage(database, {
          ...options,
          onListenerLost: (err) => logger.warn({ err }, "servers_not_heard"),
        });
  const names = extension?.sharedFiles ?? [];
  return await withSharedFolder(extension?.stores(config, storage) ?? storage, { folder: dataDir, names, logger });
}
