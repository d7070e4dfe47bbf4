import type { AttemptStore, RunWriter } from "../attempt-store.ts";
import type { CacheLimits } from "../checkpoints/cache.ts";
import { createItemStore } from "../items/item-store.ts";
import type { OpenedStorage, RunStore } from "../storage.ts";
import { PostgresSaver } from "./checkpoints/checkpointer.ts";
import { Threads } from "./checkpoints/threads.ts";
import { AttemptStream } from "./checkpoints/stream.ts";
import type { PostgresDatabase } from "./database/database.ts";
import { FencedDatabase } from "./database/fenced-database.ts";
import { bytesOf } from "./database/inspect-database.ts";
import { ServerLock } from "./database/server-lock.ts";
import { SparseIndexes } from "./database/sparse-indexes.ts";
import { SharedChanges } from "./notifications/shared-changes.ts";
import { shareDueDates } from "./notifications/due-dates.ts";
import { migrate } from "./migrations.ts";
import { migrations } from "./migrations/index.ts";
import { createApprovalStore } from "./records/approvals.ts";
import { createAssistantStore } from "./records/assistants.ts";
import { createCronStore } from "./records/crons.ts";
import { createEventStore } from "./records/events.ts";
import { createModelRequestStore, type PostgresRequests } from "./records/model-requests.ts";
import { createNamespaceStore } from "./records/namespaces.ts";
import { createOverviewStore } from "./records/overview.ts";
import { createSessionTtlStore } from "./records/session-ttls.ts";
import { createSessionStore } from "./records/sessions.ts";
import { createTaskStore } from "./records/tasks.ts";
import { createSharedFiles } from "./records/shared-files.ts";
import { createUsageStore } from "./records/usage.ts";
import { createWebhookStore } from "./records/webhooks.ts";
import { PostgresNotifications } from "./notifications/notifications.ts";
import { PeerNotifier } from "./notifications/peer-notifier.ts";
import { createLogSubscriptions } from "./notifications/log-subscriptions.ts";
import { createAttemptRecords } from "./run-records/attempt.ts";
import { createLedger } from "./run-records/ledger.ts";
import { createOperationStore } from "./run-records/operations.ts";
import { createRunStore } from "./run-records/runs.ts";
import { createItemRows } from "./store/item-rows.ts";
import { ServerLease } from "./servers/lease.ts";
import { PostgresMcpStore } from "./servers/mcp-store.ts";
import { PostgresPathLocks } from "./servers/path-locks.ts";
import { createTextIndex } from "./store/text-index.ts";

/** How much of the sessions memory holds, and the seconds that the server may be silent before others take its runs. */
interface PostgresOptions {
  limits?: CacheLimits | undefined;
  leaseSeconds?: number | undefined;
  /** Others leave runs that began with this version of the code to this server; see `RunStore.acquire`. */
  codeVersion?: string | undefined;
  /** Where PostgreSQL is reached without a pooler, whose notices a pooler keeps back; default the same address. */
  listenUrl?: string | undefined;
  /** Called when this server does not hear others by notices any more, and looks instead. */
  onListenerLost?: ((reason: unknown) => void) | undefined;
}

/**
 * Connects to the database of an address (postgres://…), and brings its schema up to date. Throws `config` for a wrong
 * address, user or password, `storage_newer` for a database of a later version, `conflict` while a server of a former one
 * has it open, and the other `storage_*` codes.
 */
export async function createPostgresStorage(url: string, options: PostgresOptions = {}): Promise<OpenedStorage> {
  const database = new FencedDatabase(url);
  const { lock, lease } = await begin(url, database, options);
  const threads = new Threads(database, options.limits, lease);
  const notifications = openNotifications(url, { database, lease }, options);
  const peers = new PeerNotifier(notifications, lease);
  const changes = new SharedChanges(notifications, database, lease);
  const ttlListeners: ((time: string) => void)[] = [];
  const sessions = createSessionStore(database, { lease, peers, ttlListeners });
  const [crons, ttls, items] = [
    createCronStore(database),
    createSessionTtlStore(database, ttlListeners),
    createItemStore(createItemRows(database)),
  ];
  const ledger = createLedger(database);
  const operations = createOperationStore(database);
  const requests = createModelRequestStore(database, threads);
  const sparseIndexes = new SparseIndexes(options.listenUrl ?? url, database.place);
  let closing: Promise<void> | undefined;
  return {
    sessions: {
      ...sessions,
      delete: (sessionId) => threads.forgetAfter(sessionId, sessions.delete(sessionId)),
      deleteUnfinished: () => threads.forgetAllAfter(sessions.deleteUnfinished()),
      deleteUnused: (sessionId) => threads.forgetAfter(sessionId, sessions.deleteUnused(sessionId)),
    },
    runs: openRuns(database, { threads, lease, peers }),
    events: createEventStore(database, threads.codec, createLogSubscriptions(notifications)),
    notifications,
    attempt: (of) => createAttempt(database, { threads, requests, lease, peers, of }),
    manualCalls: { ledger: { ...ledger, confirm: () => lease.confirm(lease.id) }, operations },
    cluster: lease,
    ledger,
    tasks: createTaskStore(database),
    approvals: createApprovalStore(database),
    operations,
    namespaces: createNamespaceStore(database),
    assistants: createAssistantStore(database, lease),
    webhooks: createWebhookStore(database, () => lease.id),
    requests,
    items: { ...items, onExpiry: shareDueDates(notifications, "items", (listener) => items.onExpiry(listener)) },
    textIndex: createTextIndex(database),
    crons: { ...crons, onDueDate: shareDueDates(notifications, "crons", (listener) => crons.onDueDate(listener)) },
    ttls: { ...ttls, onExpiry: shareDueDates(notifications, "ttls", (listener) => ttls.onExpiry(listener)) },
    usage: createUsageStore(database),
    files: createSharedFiles(database),
    pathLocks: new PostgresPathLocks(database, lease, notifications),
    mcp: new PostgresMcpStore(database, lease, notifications),
    checkpointer: new PostgresSaver(threads),
    whileCreating: (sessionId, work) => threads.withWriter(sessionId, work),
    overview: createOverviewStore(database),
    watch: (listener, onMissed) => changes.watch(listener, onMissed),
    rebuildIndexes: (signal) => sparseIndexes.rebuild(signal),
    ...observe(database),
    close: () => (closing ??= closeAll({ lock, lease }, { database, notifications, changes })),
  };
}

function observe(database: PostgresDatabase): Pick<OpenedStorage, "commitTimes" | "sizes" | "probe"> {
  return {
    commitTimes: database.times,
    sizes: () => sizesOf(database),
    probe: async () => {
      // A commit without work still waits for the disk of PostgreSQL.
      await database.rows("SELECT pg_current_xact_id()");
    },
  };
}

async function sizesOf(database: PostgresDatabase): Promise<Record<string, number>> {
  try {
    return { database: await bytesOf(database) };
  } catch {
    // A database that does not answer has no size to tell.
    return {};
  }
}

/** By what a server works on the database. */
interface Standing {
  lock: ServerLock;
  lease: ServerLease;
}

/** Brings the schema up to date, and begins to work on the database. */
async function begin(
  url: string,
  database: PostgresDatabase,
  { leaseSeconds, codeVersion }: PostgresOptions,
): Promise<Standing> {
  let lock: ServerLock | undefined;
  let lease: ServerLease | undefined;
  try {
    await migrate(database, migrations);
    lock = await ServerLock.take(database);
    lease = await ServerLease.join(url, leaseSeconds, migrations.at(-1)?.id, codeVersion);
    return { lock, lease };
  } catch (error) {
    await lease?.leave();
    await lock?.release().catch(() => undefined);
    await database.close();
    throw error;
  }
}

/** Gives the lock back and closes the connections. */
async function closeAll(
  { lock, lease }: Standing,
  {
    database,
    notifications,
    changes,
  }: { database: PostgresDatabase; notifications: PostgresNotifications; changes: SharedChanges },
): Promise<void> {
  changes.close();
  await lease.leave();
  await notifications.stop();
  // Where PostgreSQL is away, the lock runs out by itself; that must not keep the server from closing the rest.
  await lock.release().catch(() => undefined);
  await database.close();
}

/** What this server and others tell each other. It begins to listen in the background: until then it looks. */
function openNotifications(
  url: string,
  { database, lease }: { database: PostgresDatabase; lease: ServerLease },
  { listenUrl = url, onListenerLost = () => undefined }: PostgresOptions,
): PostgresNotifications {
  const hasPeers = (): boolean => lease.serverCount > 1;
  const notifications = new PostgresNotifications({
    database,
    url: listenUrl,
    id: () => lease.id,
    hasPeers,
    onListenerLost,
  });
  notifications.onNotification((notification) => {
    if (notification.type === "look") lease.heartbeatSoon();
  });
  notifications.onRestored(() => {
    if (hasPeers()) lease.heartbeatSoon();
  });
  lease.onRunsOrphaned(() => notifications.send("all", { type: "look" }));
  void notifications.start();
  return notifications;
}

function openRuns(
  database: PostgresDatabase,
  { threads, lease, peers }: Pick<AttemptParts, "threads" | "lease" | "peers">,
): RunStore {
  return createRunStore(database, {
    server: () => lease.id,
    peers,
    workspaceOf: (graphId) => lease.capabilities.workspaceOf(graphId),
    withdraw: () => lease.capabilities.withdraw(lease.id, database),
    onFirst: (sessionId) => threads.rows.expectNone(sessionId),
  });
}

/** What attempts write with. */
interface AttemptParts {
  threads: Threads;
  requests: PostgresRequests;
  lease: ServerLease;
  peers: PeerNotifier;
  of: RunWriter;
}

/** Everything that one attempt writes: its stream, and what goes beside it. */
function createAttempt(
  database: PostgresDatabase,
  { threads, requests, lease, peers, of }: AttemptParts,
): AttemptStore {
  const { id } = lease;
  const writer = { ...of, server: id };
  const stream = new AttemptStream(database, threads, writer);
  const records = createAttemptRecords(database, { of: writer, stream, peers, trusted: () => lease.confirm(id) });
  if (of.attempt !== undefined) threads.setWriter(of.session_id, writer);
  const over = (): void => threads.clearWriter(of.session_id, writer);
  return {
    ...records,
    finish: (outcome, unstored) => records.finish(outcome, unstored).finally(over),
    release: () => records.release().finally(over),
    get isLost() {
      return stream.isLost;
    },
    async append(events, usage = []) {
      if (events.length > 0 || usage.length > 0) await stream.write({ events, usage });
    },
    checkpointer: (events) => new PostgresSaver(threads, { stream, events }),
    requests: { record: (request) => requests.recordOf(writer, request) },
  };
}
