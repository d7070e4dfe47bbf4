import type { Storage } from "../storage.ts";
import { MillraceSaver } from "./checkpointer.ts";
import { openDatabase, type Database } from "./database.ts";
import { GroupCommit } from "./durable.ts";
import { createEventStore } from "./events.ts";
import { lockDatabase } from "./lock-database.ts";
import { createLedger } from "./ledger.ts";
import { migrate } from "./migrations.ts";
import { migrations } from "./migrations/index.ts";
import { createRunStore } from "./runs.ts";
import { createSessionStore } from "./sessions.ts";
import { createTaskStore } from "./tasks.ts";

/** A `Storage` whose checkpointer is ours, with what a recovery asks it. */
export interface SqliteStorage extends Storage {
  checkpointer: MillraceSaver;
}

/**
 * Opens or creates the one file that holds everything, and brings its schema up to date. Throws `storage_corrupt` for a
 * file that is no database, `storage_newer` for one of a later version, `conflict` while another process has it open, and
 * the other `storage_*` codes.
 */
export function createSqliteStorage(path: string): SqliteStorage {
  const lock = lockDatabase(path);
  let database: Database | undefined;
  try {
    database = openDatabase(path);
    migrate(database, migrations);
    const opened = database;
    const commits = new GroupCommit(database);
    const checkpointer = new MillraceSaver(database);
    let closing: Promise<void> | undefined;
    return {
      sessions: createSessionStore(database, commits, (threadId) => checkpointer.deleteThreadRows(threadId)),
      runs: createRunStore(database, commits),
      events: createEventStore(database, commits, checkpointer.codec),
      ledger: createLedger(database, commits),
      tasks: createTaskStore(database, commits),
      checkpointer,
      close: () =>
        (closing ??= commits.settled().then(() => {
          opened.close();
          lock.release();
        })),
    };
  } catch (error) {
    database?.close();
    lock.release();
    throw error;
  }
}
