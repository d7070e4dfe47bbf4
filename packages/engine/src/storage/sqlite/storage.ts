import { existsSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import { begunRuns, type Ledger, noEvents, type OperationStore, SessionMovedOn } from "../attempt-store.ts";
import { singleServer, noNotifications } from "../cluster.ts";
import type { OpenedStorage, Storage } from "../storage.ts";
import { createApprovalStore, followSession } from "./records/approvals.ts";
import { createRunStore } from "./records/runs.ts";
import {
  endRun,
  hasUnfinished,
  markRuns,
  parkRun,
  requireAttempt,
  setSessionStatus,
} from "./records/run-statements.ts";
import { createAssistantStore } from "./records/assistants.ts";
import type { CacheLimits } from "../checkpoints/cache.ts";
import { MillraceSaver } from "./checkpoints/checkpointer.ts";
import { createCronStore, createWebhookStore, insertWebhook } from "./records/crons.ts";
import { checkDatabase, checkFile, CommitMark, GroupCommit } from "./database/durable.ts";
import { openDatabase, toStorageError, type Database } from "./database/database.ts";
import { createEventStore, reserveIds, storeEvents } from "./events/events.ts";
import { lockDatabase } from "./database/lock-database.ts";
import { createLedger } from "./records/ledger.ts";
import { createOperationStore } from "./records/operations.ts";
import { migrate } from "./migrations.ts";
import { migrations } from "./migrations/index.ts";
import { createModelRequestStore, type SqliteRequests } from "./records/model-requests.ts";
import { createNamespaceStore, createSessionStore } from "./records/sessions.ts";
import { createOverviewStore } from "./records/overview.ts";
import { createSessionTtlStore } from "./records/session-ttls.ts";
import { createItemStore } from "../items/item-store.ts";
import { createItemRows } from "./store/item-rows.ts";
import { createTextIndex } from "./store/text-index.ts";
import { createTaskStore } from "./records/tasks.ts";
import { createUsageStore } from "./records/usage.ts";

/** A storage whose checkpointer is ours, with what a recovery asks it. */
export interface SqliteStorage extends OpenedStorage {
  checkpointer: MillraceSaver;
}

/**
 * Opens or creates the one file that holds everything, and brings its schema up to date. Throws `storage_corrupt` for a
 * file that is no database or not what was written, `storage_newer` for one of a later version, `conflict` while
 * another process has it open, and the other `storage_*` codes. `open` opens the file itself; the fault tests put
 * theirs there. `limits`: how much of the sessions memory holds.
 */
export function createSqliteStorage(
  path: string,
  open: (path: string) => Database = openDatabase,
  limits?: CacheLimits,
): SqliteStorage {
  if (path !== ":memory:") makeFolder(path);
  const lock = lockDatabase(path);
  let database: Database | undefined;
  let mark: CommitMark | undefined;
  try {
    const opened = (database = openChecked(path, open));
    const commitMark = (mark = path === ":memory:" ? undefined : new CommitMark(opened));
    const commits = new GroupCommit(opened, commitMark);
    const checkpointer = new MillraceSaver(opened, undefined, limits);
    const requests = createModelRequestStore(opened, commits, checkpointer.codec);
    const ledger = createLedger(opened, commits);
    const operations = createOperationStore(opened, commits);
    let closing: Promise<void> | undefined;
    const ttlListeners: ((time: string) => void)[] = [];
    return {
      sessions: createSessionStore(opened, commits, ttlListeners, (id) => checkpointer.deleteThreadRows(id)),
      runs: createRunStore(opened, commits),
      events: createEventStore(opened, commits, checkpointer.codec),
      attempt: attemptsOf({ database: opened, commits, saver: checkpointer, requests }),
      manualCalls: { ledger, operations },
      cluster: singleServer,
      notifications: noNotifications,
      ledger,
      tasks: createTaskStore(opened, commits),
      approvals: createApprovalStore(opened, commits),
      operations,
      namespaces: createNamespaceStore(opened, commits),
      assistants: createAssistantStore(opened, commits),
      webhooks: createWebhookStore(opened, commits),
      requests,
      items: createItemStore(createItemRows(opened, commits)),
      textIndex: createTextIndex(opened, commits),
      crons: createCronStore(opened, commits),
      ttls: createSessionTtlStore(opened, commits, ttlListeners),
      checkpointer,
      overview: createOverviewStore(opened),
      usage: createUsageStore(opened),
      watch: async (listener) => opened.watch(listener),
      // A commit without work still counts itself, and waits for the disk.
      commitTimes: commits.times,
      probe: () => commits.durably(() => undefined),
      sizes: async () => ({ database: await sizeOf(path), log: await sizeOf(`${path}-wal`) }),
      close: () =>
        (closing ??= commits.settled().then(() => {
          opened.close();
          closeMarkAndLock(commitMark, lock);
        })),
    };
  } catch (error) {
    database?.close();
    mark?.close();
    lock.release();
    throw error;
  }
}

/** Closes what stands beside a database that is closed. */
function closeMarkAndLock(commitMark: CommitMark | undefined, lock: { release(): void }): void {
  try {
    commitMark?.close();
  } finally {
    lock.release();
  }
}

/**
 * What an attempt writes, by the attempt. Most graphs call no tools: what only those need is made when it is used. It
 * stands here and in one function since every run goes through it.
 */
function attemptsOf({
  database,
  commits,
  saver,
  requests,
}: {
  database: Database;
  commits: GroupCommit;
  saver: MillraceSaver;
  requests: SqliteRequests;
}): Storage["attempt"] {
  return (of) => {
    let ledger: Ledger | undefined;
    let operations: OperationStore | undefined;
    return {
      reserve: (mark) => commits.durably(() => reserveIds(database, of, mark)),
      async append(events, usage = []) {
        if (events.length === 0 && usage.length === 0) return;
        await commits.transaction(() => storeEvents(database, saver.codec, of, { events, usage }));
      },
      checkpointer: (events) => new MillraceSaver(database, { saver, of, events }),
      finish: (outcome, unstored = noEvents) =>
        unstored.flushWith((events, usage) =>
          commits.durably(() => {
            if (outcome.readAt !== undefined && outcome.readAt !== begunRuns(markRuns(database, of.session_id)))
              throw new SessionMovedOn(of.session_id);
            const run = endRun(database, of, outcome);
            if (run === undefined) return undefined;
            if (events.length > 0 || usage.length > 0) storeEvents(database, saver.codec, of, { events, usage });
            const status = hasUnfinished(database, run.session_id) ? "busy" : outcome.session_status;
            setSessionStatus(database, run.session_id, status, outcome.interrupts);
            followSession(database, { session_id: run.session_id, interrupts: outcome.interrupts });
            if (outcome.webhook !== undefined) insertWebhook(database, run, outcome.webhook);
            return run;
          }),
        ),
      park: () => commits.durably(() => parkRun(database, of)),
      release: async () => undefined,
      get ledger() {
        return (ledger ??= createLedger(database, commits, of));
      },
      get operations() {
        return (operations ??= createOperationStore(database, commits, of));
      },
      requests: { record: (request) => requests.recordWith(request, () => requireAttempt(database, of)) },
    };
  };
}

async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.size ?? 0;
}

function makeFolder(path: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true });
  } catch (error) {
    throw toStorageError(error, path);
  }
}

/** The database as it has to be before anybody is served. */
function openChecked(path: string, open: (path: string) => Database): Database {
  const isFile = path !== ":memory:";
  const { closedCleanly } = isFile ? checkFile(path) : { closedCleanly: true };
  if (isFile && !existsSync(path)) createFile(path);
  const database = open(path);
  try {
    if (!closedCleanly) checkDatabase(database);
    migrate(database, migrations);
    database.disableBusyTimeout();
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** A new database as bytes, made once for a process: the schema's many steps take longer than everything else of it. */
let newFile: Buffer | undefined;

/** Written under another name first, so that a file that is empty is always a damaged one. */
function createFile(path: string): void {
  const unfinished = `${path}.new`;
  try {
    newFile ??= migratedFile();
    writeFileSync(unfinished, newFile, { flush: true });
    renameSync(unfinished, path);
  } catch (error) {
    throw toStorageError(error, path);
  }
}

function migratedFile(): Buffer {
  const database = openDatabase(":memory:");
  try {
    migrate(database, migrations);
    return database.raw.serialize();
  } finally {
    database.close();
  }
}
