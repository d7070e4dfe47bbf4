import { AppError } from "../../../errors/errors.ts";
import { changeOfOperation } from "../../changes.ts";
import type { OperationRecord } from "../../records.ts";
import type { FileContents, OperationStore, RunWriter } from "../../attempt-store.ts";
import { ContentRow, CountRow, OperationRow, parseRow, readRows, readRow } from "../../rows.ts";
import type { Database } from "../database/database.ts";
import type { GroupCommit } from "../database/durable.ts";
import { requireAttempt } from "./run-statements.ts";

/** Newest operations of a session whose bytes are kept; older ones cannot be undone any more. */
const keptOperations = 200;

/** The columns of an operation, with its session joined. */
export const operationColumns = `operation_id, sessions.session_id, run_id, message_id, tool_call_id, tool, operations.status, change,
  lines_added, lines_removed, first_line, is_kept, operations.created_at, operations.updated_at`;
const select = `SELECT ${operationColumns}
  FROM operations JOIN sessions ON sessions.id = operations.session WHERE sessions.session_id = @session_id`;

const byId = `SELECT ${operationColumns} FROM operations JOIN sessions ON sessions.id = operations.session WHERE operation_id = @operation_id`;

const filter = `AND (@run_id IS NULL OR run_id = @run_id) AND (@message_id IS NULL OR message_id = @message_id)`;

/**
 * Operations in SQLite. The bytes of before are on disk before the call may change anything. `of`: the attempt that
 * writes; absent for calls that belong to no run.
 */
export function createOperationStore(database: Database, commits: GroupCommit, of?: RunWriter): OperationStore {
  const fence = (): void => of && requireAttempt(database, of);
  const one = (column: "operation_id" | "tool_call_id", session_id: string, id: string): OperationRecord | undefined =>
    readRow(OperationRow, "operations", database.prepare(`${select} AND ${column} = @id`).get({ session_id, id }));

  return {
    begin: (operation, contents) =>
      commits.durably(() => {
        fence();
        const known = one("tool_call_id", operation.session_id, operation.tool_call_id);
        if (known !== undefined) return known;
        insert(database, operation);
        insertContents(database, operation.operation_id, contents);
        letOldOnesGo(database, operation.session_id);
        return operation;
      }),

    settle: (operation_id, end, contents) =>
      commits.transaction(() => {
        fence();
        const updated_at = new Date().toISOString();
        database
          .prepare(
            `UPDATE operations SET status = @status, change = @change, lines_added = @lines_added,
             lines_removed = @lines_removed, first_line = @first_line, is_kept = @is_kept, updated_at = @updated_at
             WHERE operation_id = @operation_id`,
          )
          .run({
            ...end,
            operation_id,
            updated_at,
            change: JSON.stringify(end.change),
            is_kept: Number(end.is_kept),
          });
        if (end.is_kept) insertContents(database, operation_id, contents);
        else removeContents(database, operation_id);
        recordSettled(database, operation_id);
      }),

    get: async (sessionId, operationId) => database.read(() => one("operation_id", sessionId, operationId)),

    ofCall: async (sessionId, toolCallId) => database.read(() => one("tool_call_id", sessionId, toolCallId)),

    list: async (sessionId, query) => database.read(() => page(database, sessionId, query)),

    content: async (operation_id, hash) =>
      database.read(() => {
        const row = database
          .prepare(
            `SELECT bytes FROM operation_contents JOIN operations ON operations.id = operation
             WHERE operation_id = @operation_id AND hash = @hash`,
          )
          .get({ operation_id, hash });
        return readRow(ContentRow, "operation_contents", row)?.bytes;
      }),
  };
}

function page(
  database: Database,
  session_id: string,
  { limit, offset, run_id, message_id }: Parameters<OperationStore["list"]>[1],
): { operations: OperationRecord[]; total: number } {
  const matching = { session_id, run_id: run_id ?? null, message_id: message_id ?? null };
  const rows = database
    .prepare(`${select} ${filter} ORDER BY operations.id DESC LIMIT @limit OFFSET @offset`)
    .all({ ...matching, limit, offset });
  const total = database
    .prepare(
      `SELECT count(*) AS count FROM operations
       WHERE session = (SELECT id FROM sessions WHERE session_id = @session_id) ${filter}`,
    )
    .get(matching);
  return {
    operations: readRows(OperationRow, "operations", rows),
    total: parseRow(CountRow, "operations", total).count,
  };
}

function insert(database: Database, operation: OperationRecord): void {
  const { changes } = database
    .prepare(
      `INSERT INTO operations (operation_id, session, run_id, message_id, tool_call_id, tool, status, change, lines_added,
         lines_removed, first_line, is_kept, created_at, updated_at)
       SELECT @operation_id, id, @run_id, @message_id, @tool_call_id, @tool, @status, @change, @lines_added,
         @lines_removed, @first_line, @is_kept, @created_at, @updated_at
       FROM sessions WHERE session_id = @session_id`,
    )
    .run({ ...operation, change: JSON.stringify(operation.change), is_kept: Number(operation.is_kept) });
  if (changes === 0) throw new AppError("not_found", `Session "${operation.session_id}" not found.`);
  database.recordChange?.(changeOfOperation("created", operation));
}

function recordSettled(database: Database, operation_id: string): void {
  if (database.recordChange === undefined) return;
  const operation = readRow(OperationRow, "operations", database.prepare(byId).get({ operation_id }));
  if (operation !== undefined) database.recordChange(changeOfOperation("changed", operation));
}

function insertContents(database: Database, operation_id: string, contents: FileContents): void {
  const statement = database.prepare(
    `INSERT OR IGNORE INTO operation_contents (operation, hash, bytes)
     SELECT id, @hash, @bytes FROM operations WHERE operation_id = @operation_id`,
  );
  for (const [hash, bytes] of contents) statement.run({ operation_id, hash, bytes });
}

function removeContents(database: Database, operationId: string): void {
  database
    .prepare("DELETE FROM operation_contents WHERE operation = (SELECT id FROM operations WHERE operation_id = ?)")
    .run(operationId);
}

/** A session that works for ever must not grow for ever: what was long ago loses its bytes, not its record. */
function letOldOnesGo(database: Database, sessionId: string): void {
  const old = database
    .prepare<{ operation_id: string }>(
      `SELECT operation_id FROM operations WHERE is_kept = 1 AND session = (SELECT id FROM sessions WHERE session_id = ?)
       ORDER BY id DESC LIMIT -1 OFFSET ${keptOperations}`,
    )
    .all(sessionId);
  for (const { operation_id } of old) {
    removeContents(database, operation_id);
    database.prepare("UPDATE operations SET is_kept = 0 WHERE operation_id = ?").run(operation_id);
  }
}
