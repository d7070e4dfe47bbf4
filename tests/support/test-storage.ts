import { AppError } from "@millrace/engine/errors/errors";
import type { Run, Session } from "@millrace/engine/storage/records";
import type { OperationStore } from "@millrace/engine/storage/storage";
import { type Database, openDatabase } from "@millrace/engine/storage/sqlite/database/database";
import { SessionRow, readRow } from "@millrace/engine/storage/sqlite/database/rows";
import { findRun, insertRun } from "@millrace/engine/storage/sqlite/records/run-rows";
import { createSqliteStorage, type SqliteStorage } from "@millrace/engine/storage/sqlite/storage";
import { sessionRecord } from "../contract/records.ts";

type Operation = "append" | "finish" | "reserve" | "claim" | "requestStop";

/** The server's storage, in memory, with what tests of the layers above it do to it. It goes with its test. */
export interface TestStorage extends SqliteStorage {
  /** Operations that fail as on a full disk. */
  failures: Set<Operation>;
  /** Is awaited before each write of a checkpoint; what it throws, the write throws. */
  beforePut: (() => Promise<void> | void) | undefined;
  database: Database;
  /** The rows as they are, in the order in which they came. */
  rows: {
    run(id: string): Run | undefined;
    runs(): Run[];
    /** Writes a row as a former process may have left it. */
    putRun(run: Run): void;
    session(id: string): Session | undefined;
    sessionCount(): number;
  };
}

/** Opens one. */
export function createTestStorage(): TestStorage {
  const opened: Database[] = [];
  const sqlite = createSqliteStorage(":memory:", (path) => {
    const made = openDatabase(path);
    opened.push(made);
    return made;
  });
  const [database] = opened;
  if (database === undefined) throw new Error("The storage was opened without its database.");
  const storage: TestStorage = {
    ...sqlite,
    failures: new Set(),
    beforePut: undefined,
    database,
    rows: rowsOf(database),
    checkpointerWith: (events) => {
      const saver = sqlite.checkpointerWith({
        carry: (write) =>
          events.carry(async (group) => {
            if (group.events.length > 0) check("append");
            return await write(group);
          }),
      });
      return withHook(saver);
    },
  };
  const check = (operation: Operation): void => {
    if (storage.failures.has(operation)) throw new AppError("storage_full", `The disk is full (${operation}).`);
  };
  const checked =
    <Parameters extends unknown[], Result>(operation: Operation, work: (...given: Parameters) => Promise<Result>) =>
    async (...given: Parameters): Promise<Result> => {
      check(operation);
      return await work(...given);
    };
  const withHook = <Saver extends Pick<SqliteStorage["checkpointer"], "put">>(saver: Saver): Saver => {
    const put = saver.put.bind(saver);
    saver.put = async (...given) => {
      await storage.beforePut?.();
      return await put(...given);
    };
    return saver;
  };
  withHook(sqlite.checkpointer);
  const { runs, events } = sqlite;
  runs.finish = checked("finish", runs.finish.bind(runs));
  runs.claim = checked("claim", runs.claim.bind(runs));
  runs.requestStop = checked("requestStop", runs.requestStop.bind(runs));
  events.append = checked("append", events.append.bind(events));
  events.reserve = checked("reserve", events.reserve.bind(events));
  return storage;
}

function rowsOf(database: Database): TestStorage["rows"] {
  const ids = database.raw.prepare<[], { run_id: string }>("SELECT run_id FROM runs ORDER BY id");
  const session = database.raw.prepare("SELECT * FROM sessions WHERE session_id = ?");
  const change = database.raw.prepare(
    `UPDATE runs SET status = @status, kwargs = @kwargs, attempt = @attempt, crashes = @crashes, event_mark = @event_mark,
     expired_events = @expired_events, stop_requested = @stop_requested, error = @error, created_at = @created_at,
     updated_at = @updated_at WHERE run_id = @run_id`,
  );
  const run = (id: string): Run | undefined => findRun(database, id);
  return {
    run,
    runs: () => ids.all().flatMap(({ run_id }) => run(run_id) ?? []),
    putRun(row) {
      if (run(row.run_id) === undefined) insertRun(database, row);
      change.run({ ...row, kwargs: JSON.stringify(row.kwargs), error: JSON.stringify(row.error) });
    },
    session: (id) => readRow(SessionRow, "sessions", session.get(id)),
    sessionCount: () => database.raw.prepare("SELECT 1 FROM sessions").all().length,
  };
}

/** The operations of these sessions. */
export async function createTestOperations(...sessionIds: string[]): Promise<OperationStore> {
  const { sessions, operations } = createTestStorage();
  for (const id of sessionIds) await sessions.create(sessionRecord(id));
  return operations;
}
