import { AppError } from "@millrace/engine/errors/errors";
import type { RunEvent } from "@millrace/engine/run-events";
import type { Run, Session } from "@millrace/engine/storage/records";
import type { AttemptStore, OperationStore, UnstoredEvents } from "@millrace/engine/storage/attempt-store";
import type { Storage } from "@millrace/engine/storage/storage";
import { type Database, openDatabase } from "@millrace/engine/storage/sqlite/database/database";
import { SessionRow, readRow } from "@millrace/engine/storage/rows";
import { findRun, insertRun } from "@millrace/engine/storage/sqlite/records/run-statements";
import { createSqliteStorage, type SqliteStorage } from "@millrace/engine/storage/sqlite/storage";
import { sessionRecord } from "../contract/records.ts";

type Operation = "append" | "finish" | "reserve" | "claim" | "requestStop";

/** The server's storage, in memory, with what tests of the layers above it do to it. It goes with its test. */
export interface TestStorage extends SqliteStorage {
  /** Operations that fail as on a full disk. */
  failures: Set<Operation>;
  /** Is awaited before each of these operations; what it throws, the operation throws. */
  beforeWrite: ((operation: Operation, events?: RunEvent[]) => Promise<void> | void) | undefined;
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
  const check = async (operation: Operation, events?: RunEvent[]): Promise<void> => {
    await storage.beforeWrite?.(operation, events);
    if (storage.failures.has(operation)) throw new AppError("storage_full", `The disk is full (${operation}).`);
  };
  const checkedEvents = (events: UnstoredEvents): UnstoredEvents => ({
    flushWith: (write) =>
      events.flushWith(async (unstored, usage) => {
        if (unstored.length > 0) await check("append", unstored);
        return await write(unstored, usage);
      }),
  });
  const attempts = withAttempts(sqlite, (store) => ({
    append: async (events, usage) => {
      await check("append", events);
      await store.append(events, usage);
    },
    reserve: async (mark) => {
      await check("reserve");
      await store.reserve(mark);
    },
    finish: async (outcome, unstored) => {
      await check("finish");
      return await store.finish(outcome, unstored && checkedEvents(unstored));
    },
    checkpointer: (events) => withHook(store.checkpointer(checkedEvents(events))),
  }));
  const storage: TestStorage = {
    ...attempts,
    failures: new Set(),
    beforeWrite: undefined,
    beforePut: undefined,
    database,
    rows: rowsOf(database),
  };
  const checked =
    <Parameters extends unknown[], Result>(operation: Operation, work: (...given: Parameters) => Promise<Result>) =>
    async (...given: Parameters): Promise<Result> => {
      await check(operation);
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
  const { runs } = sqlite;
  runs.claim = checked("claim", runs.claim.bind(runs));
  runs.requestStop = checked("requestStop", runs.requestStop.bind(runs));
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
  const { sessions, manualCalls } = createTestStorage();
  for (const id of sessionIds) await sessions.create(sessionRecord(id));
  return manualCalls.operations;
}

/** The storage, but what its attempts do is partly replaced: `replace` gets what the storage made for an attempt. */
export function withAttempts<Kind extends Storage>(
  storage: Kind,
  replace: (store: AttemptStore) => Partial<AttemptStore>,
): Kind {
  return {
    ...storage,
    attempt(of) {
      const store = storage.attempt(of);
      const replaced = replace(store);
      return new Proxy(store, {
        get: (target, key) => {
          const value: unknown = Reflect.get(key in replaced ? replaced : target, key);
          return typeof value === "function" && !(key in replaced) ? value.bind(target) : value;
        },
      });
    },
  };
}

/** The checkpointer, but each thing it writes goes through `around`. */
export function withWrites<Saver extends ReturnType<AttemptStore["checkpointer"]>>(
  saver: Saver,
  around: (write: (...args: never[]) => Promise<unknown>) => (...args: never[]) => Promise<unknown>,
): Saver {
  const replaced: Record<PropertyKey, unknown> = {
    put: around(saver.put.bind(saver)),
    putWrites: around(saver.putWrites.bind(saver)),
  };
  return new Proxy(saver, {
    get: (target, key) => {
      if (key in replaced) return replaced[key];
      const value: unknown = Reflect.get(target, key);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
