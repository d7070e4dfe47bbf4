import type { AttemptStore, RunWriter } from "../attempt-store.ts";
import { createItemStore } from "../items/item-store.ts";
import type { Storage } from "../storage.ts";
import { PostgresDatabase } from "./database/database.ts";
import { migrate } from "./migrations.ts";
import { migrations } from "./migrations/index.ts";
import { createApprovalStore } from "./records/approvals.ts";
import { createAssistantStore } from "./records/assistants.ts";
import { createCronStore } from "./records/crons.ts";
import { createNamespaceStore } from "./records/namespaces.ts";
import { createOverviewStore } from "./records/overview.ts";
import { createSessionTtlStore } from "./records/session-ttls.ts";
import { createSessionStore } from "./records/sessions.ts";
import { createTaskStore } from "./records/tasks.ts";
import { createWebhookStore } from "./records/webhooks.ts";
import { createAttemptRecords } from "./runs/attempt.ts";
import { createLedger } from "./runs/ledger.ts";
import { createOperationStore } from "./runs/operations.ts";
import { createRunStore } from "./runs/runs.ts";
import { createItemRows } from "./store/item-rows.ts";
import { createTextIndex } from "./store/text-index.ts";

/** What of a `Storage` is in PostgreSQL. */
export type PostgresStorage = Pick<
  Storage,
  | "byHand"
  | "sessions"
  | "runs"
  | "ledger"
  | "tasks"
  | "approvals"
  | "operations"
  | "namespaces"
  | "crons"
  | "ttls"
  | "webhooks"
  | "assistants"
  | "items"
  | "textIndex"
  | "overview"
  | "watch"
  | "close"
> & { attempt(of: RunWriter): Pick<AttemptStore, "reserve" | "finish" | "release" | "ledger" | "operations"> };

/**
 * Connects to the database of an address (postgres://…), and brings its schema up to date. Throws `config` for a wrong
 * address, user or password, `storage_newer` for a database of a later version, and the other `storage_*` codes.
 */
export async function createPostgresStorage(url: string): Promise<PostgresStorage> {
  const database = new PostgresDatabase(url);
  try {
    await migrate(database, migrations);
  } catch (error) {
    await database.close();
    throw error;
  }
  const ledger = createLedger(database);
  const operations = createOperationStore(database);
  return {
    sessions: createSessionStore(database),
    runs: createRunStore(database),
    attempt: (of) => createAttemptRecords(database, of),
    byHand: { ledger, operations },
    ledger,
    tasks: createTaskStore(database),
    approvals: createApprovalStore(database),
    operations,
    namespaces: createNamespaceStore(database),
    webhooks: createWebhookStore(database),
    crons: createCronStore(database),
    ttls: createSessionTtlStore(database),
    assistants: createAssistantStore(database),
    items: createItemStore(createItemRows(database)),
    textIndex: createTextIndex(database),
    overview: createOverviewStore(database),
    watch: (listener) => database.watch(listener),
    close: () => database.close(),
  };
}
