import type { AttemptStore, RunWriter } from "../attempt-store.ts";
import type { CacheLimits } from "../checkpoints/cache.ts";
import { createItemStore } from "../items/item-store.ts";
import type { OpenedStorage } from "../storage.ts";
import { PostgresSaver } from "./checkpoints/checkpointer.ts";
import { Threads } from "./checkpoints/threads.ts";
import { AttemptStream } from "./checkpoints/stream.ts";
import { PostgresDatabase } from "./database/database.ts";
import { bytesOf } from "./database/look-at-database.ts";
import { ServerLock } from "./database/server-lock.ts";
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
import { createUsageStore } from "./records/usage.ts";
import { createWebhookStore, giveBackWebhooks } from "./records/webhooks.ts";
import { createAttemptRecords } from "./run-records/attempt.ts";
import { createLedger } from "./run-records/ledger.ts";
import { createOperationStore } from "./run-records/operations.ts";
import { createRunStore } from "./run-records/runs.ts";
import { createItemRows } from "./store/item-rows.ts";
import { createTextIndex } from "./store/text-index.ts";

/**
 * Connects to the database of an address (postgres://…), and brings its schema up to date. Throws `config` for a wrong
 * address, user or password, `storage_newer` for a database of a later version, `conflict` while another server has it
 * open, and the other `storage_*` codes. `limits`:
 * how much of the sessions memory holds.
 */
export async function createPostgresStorage(url: string, limits?: CacheLimits): Promise<OpenedStorage> {
  const database = new PostgresDatabase(url);
  let lock: ServerLock;
  try {
    await migrate(database, migrations);
    lock = await ServerLock.take(database);
    await giveBackWebhooks(database);
  } catch (error) {
    await database.close();
    throw error;
  }
  const threads = new Threads(database, limits);
  const sessions = createSessionStore(database);
  const ledger = createLedger(database);
  const operations = createOperationStore(database);
  const requests = createModelRequestStore(database, threads);
  let closing: Promise<void> | undefined;
  return {
    sessions: {
      ...sessions,
      delete: (sessionId) => threads.forgetAfter(sessionId, sessions.delete(sessionId)),
      deleteUnfinished: () => threads.forgetAllAfter(sessions.deleteUnfinished()),
      deleteUnused: (sessionId) => threads.forgetAfter(sessionId, sessions.deleteUnused(sessionId)),
    },
    runs: createRunStore(database, (sessionId) => threads.rows.expectNone(sessionId)),
    events: createEventStore(database, threads.codec),
    attempt: (of) => createAttempt(database, { threads, requests, of }),
    byHand: { ledger, operations },
    ledger,
    tasks: createTaskStore(database),
    approvals: createApprovalStore(database),
    operations,
    namespaces: createNamespaceStore(database),
    assistants: createAssistantStore(database),
    webhooks: createWebhookStore(database),
    requests,
    items: createItemStore(createItemRows(database)),
    textIndex: createTextIndex(database),
    crons: createCronStore(database),
    ttls: createSessionTtlStore(database),
    usage: createUsageStore(database),
    checkpointer: new PostgresSaver(threads),
    overview: createOverviewStore(database),
    watch: (listener) => database.watch(listener),
    commitTimes: database.times,
    sizes: () =>
      bytesOf(database).then(
        (bytes) => ({ database: bytes }),
        () => ({}),
      ),
    probe: async () => {
      // A commit without work still waits for the disk of PostgreSQL.
      await database.rows("SELECT pg_current_xact_id()");
    },
    close: () => (closing ??= closeAll(lock, database)),
  };
}

/** Gives the lock back and closes the connections. */
async function closeAll(lock: ServerLock, database: PostgresDatabase): Promise<void> {
  // Where PostgreSQL is away, the lock runs out by itself; that must not keep the server from closing the rest.
  await lock.release().catch(() => undefined);
  await database.close();
}

/** Everything that one attempt writes: its stream, and what goes beside it. */
function createAttempt(
  database: PostgresDatabase,
  { threads, requests, of }: { threads: Threads; requests: PostgresRequests; of: RunWriter },
): AttemptStore {
  const stream = new AttemptStream(database, threads, of);
  return {
    ...createAttemptRecords(database, of, stream),
    get isLost() {
      return stream.isLost;
    },
    async append(events, usage = []) {
      if (events.length > 0 || usage.length > 0) await stream.write({ events, usage });
    },
    checkpointer: (events) => new PostgresSaver(threads, { stream, events }),
    requests: { note: (request) => requests.noteOf(of, request) },
  };
}
