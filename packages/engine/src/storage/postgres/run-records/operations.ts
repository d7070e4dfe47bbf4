import { z } from "zod";
import { clusterDate } from "../../../concurrency/cluster-time.ts";
import { AppError } from "../../../errors/errors.ts";
import type { FileContents, OperationStore, RunWriter } from "../../attempt-store.ts";
import { changeOfOperation } from "../../changes.ts";
import type { OperationRecord } from "../../records.ts";
import { ContentRow, CountRow, OperationRow, parseRow, readRow, readRows } from "../../rows.ts";
import { asyncCommit, type PostgresDatabase, type Values } from "../database/database.ts";
import { failFenced, lockFencedRun, fenceHolds, type StreamState, writeFenced, writerValues } from "./fence.ts";

/** Newest operations of a session whose bytes are kept; older ones cannot be undone any more. */
const keptOperations = 200;

/** The columns of an operation. */
export const operationColumns = `operation_id, (SELECT session_id FROM sessions WHERE sessions.id = session) AS session_id, run_id,
  message_id, tool_call_id, tool, status, change, lines_added, lines_removed, first_line, is_kept, created_at, updated_at`;
const ofSession = "session = (SELECT id FROM sessions WHERE session_id = $1)";
const select = `SELECT ${operationColumns} FROM operations WHERE ${ofSession}`;
const filter = "AND ($2::text IS NULL OR run_id = $2) AND ($3::text IS NULL OR message_id = $3)";

/** A session that works for ever must not grow for ever: what was long ago loses its bytes, not its record. */
const begin = `n AS (
    INSERT INTO operations (session, attempt, operation_id, run_id, message_id, tool_call_id, tool, status, change,
      lines_added, lines_removed, first_line, is_kept, created_at, updated_at)
    SELECT id, $2, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16 FROM a
    ON CONFLICT (session, tool_call_id) DO NOTHING RETURNING id),
  c AS (
    INSERT INTO operation_contents (operation, hash, bytes)
    SELECT n.id, hash, bytes FROM n, unnest($17::text[], $18::bytea[]) AS content (hash, bytes)),
  o AS (
    UPDATE operations SET is_kept = 0 WHERE EXISTS (SELECT FROM n) AND id IN (
      SELECT id FROM operations WHERE session = (SELECT id FROM a) AND is_kept = 1
      ORDER BY id DESC OFFSET ${keptOperations - 1}
    ) RETURNING id),
  d AS (DELETE FROM operation_contents WHERE operation IN (SELECT id FROM o)),
  w AS (SELECT id FROM n)`;

const settle = `WITH ${lockFencedRun("$13")},
  w AS (
    UPDATE operations SET status = $4, change = $5, lines_added = $6, lines_removed = $7, first_line = $8, is_kept = $9,
      updated_at = $10
    WHERE operation_id = $3 AND ${fenceHolds} RETURNING *, ${asyncCommit}),
  c AS (
    INSERT INTO operation_contents (operation, hash, bytes)
    SELECT w.id, hash, bytes FROM w, unnest($11::text[], $12::bytea[]) AS content (hash, bytes) WHERE w.is_kept = 1
    ON CONFLICT DO NOTHING),
  d AS (DELETE FROM operation_contents WHERE operation IN (SELECT id FROM w WHERE w.is_kept = 0))
  SELECT held.is_held, ${operationColumns} FROM (SELECT ${fenceHolds} AS is_held) AS held LEFT JOIN w ON true`;
const HeldRow = z.object({ is_held: z.boolean(), operation_id: z.string().nullable() });

function contentValues(contents: FileContents): Values {
  return [[...contents.keys()], [...contents.values()]];
}

async function list(
  database: PostgresDatabase,
  sessionId: string,
  { limit, offset, run_id, message_id }: Parameters<OperationStore["list"]>[1],
): ReturnType<OperationStore["list"]> {
  const matching = [sessionId, run_id ?? null, message_id ?? null];
  const page = `${select} ${filter} ORDER BY id DESC LIMIT $4 OFFSET $5`;
  const all = `SELECT count(*) AS count FROM operations WHERE ${ofSession} ${filter}`;
  const [rows, [total]] = await Promise.all([
    database.read(page, [...matching, limit, offset]),
    database.read(all, matching),
  ]);
  return {
    operations: readRows(OperationRow, "operations", rows),
    total: parseRow(CountRow, "operations", total).count,
  };
}

async function contentOf(
  database: PostgresDatabase,
  operationId: string,
  hash: string,
): Promise<Uint8Array | undefined> {
  const sql = `SELECT bytes FROM operation_contents JOIN operations ON operations.id = operation
    WHERE operation_id = $1 AND hash = $2`;
  const [row] = await database.read(sql, [operationId, hash]);
  return readRow(ContentRow, "operation_contents", row)?.bytes;
}

/**
 * Operations in PostgreSQL. The bytes of before are on disk before the call may change anything. `of`: the attempt that
 * writes; absent for calls that belong to no run.
 */
export function createOperationStore(database: PostgresDatabase, of?: RunWriter, stream?: StreamState): OperationStore {
  const once: PostgresDatabase["once"] = (work) => database.once(work, of !== undefined, () => stream?.isLost === true);
  const one = async (
    column: "operation_id" | "tool_call_id",
    sessionId: string,
    id: string,
  ): Promise<OperationRecord | undefined> => {
    const [row] = await database.read(`${select} AND ${column} = $2`, [sessionId, id]);
    return readRow(OperationRow, "operations", row);
  };

  return {
    begin: (operation, contents) =>
      once(async () => {
        const { session_id: sessionId, operation_id, run_id, message_id, tool_call_id, tool, status } = operation;
        const { change, lines_added, lines_removed, first_line, is_kept, created_at, updated_at } = operation;
        const values = [operation_id, run_id, message_id, tool_call_id, tool, status, JSON.stringify(change)];
        const numbers = [lines_added, lines_removed, first_line, Number(is_kept)];
        const all = [...values, ...numbers, created_at, updated_at, ...contentValues(contents)];
        const written = await writeFenced(database, { of, sessionId, stream }, begin, all);
        if (written.length > 0) {
          database.recordChanges(changeOfOperation("created", operation));
          return operation;
        }
        const known = await one("tool_call_id", sessionId, tool_call_id);
        // Its session was removed in between.
        if (known === undefined) throw new AppError("not_found", `Session "${sessionId}" not found.`);
        return known;
      }),

    settle: (operationId, end, contents) =>
      once(async () => {
        const [row] = await database.rows(settle, [
          ...writerValues(of),
          operationId,
          end.status,
          JSON.stringify(end.change),
          end.lines_added,
          end.lines_removed,
          end.first_line,
          Number(end.is_kept),
          clusterDate(),
          ...contentValues(contents),
          of?.server ?? null,
        ]);
        const { is_held, operation_id } = parseRow(HeldRow, "operations", row);
        if (!is_held && of !== undefined) await failFenced(database, of);
        if (operation_id === null) return;
        database.recordChanges(changeOfOperation("changed", parseRow(OperationRow, "operations", row)));
      }),

    get: (sessionId, operationId) => one("operation_id", sessionId, operationId),

    ofCall: (sessionId, toolCallId) => one("tool_call_id", sessionId, toolCallId),

    list: (sessionId, query) => list(database, sessionId, query),

    content: (operationId, hash) => contentOf(database, operationId, hash),
  };
}
