import { setImmediate } from "node:timers/promises";
import { z } from "zod";
import { AppError } from "../../errors.ts";
import type { RunEvent } from "../../events.ts";
import type { EventStore } from "../storage.ts";
import type { Codec } from "./codec.ts";
import type { Database } from "./database.ts";
import type { GroupCommit } from "./durable.ts";
import { packEvents, unpackEvents } from "./event-batch.ts";
import { readRow, readRows } from "./rows.ts";

/** How many rows one look at the log takes at most: a row holds one group, about 50 ms of events. */
const rowsAtOnce = 16;

const LogRow = z.object({ run: z.number(), session_id: z.string(), last_id: z.number() });
const BatchRow = z.object({
  session_id: z.string(),
  first_id: z.number(),
  last_id: z.number(),
  payload: z.union([z.string(), z.instanceof(Buffer)]),
});

function checkOrder(runId: string, lastId: number, events: readonly RunEvent[]): void {
  let previous = lastId;
  for (const { id } of events) {
    if (id <= previous) {
      throw new AppError("invalid_state", `Expected an event id above ${previous} in run "${runId}", got ${id}.`);
    }
    previous = id;
  }
}

/** Where a run's log stands; `last_id` is -1 when it is empty. */
function readLog(database: Database, runId: string): z.infer<typeof LogRow> | undefined {
  const sql = `SELECT runs.id AS run, session_id,
      coalesce((SELECT max(last_id) FROM run_events WHERE run = runs.id), -1) AS last_id
    FROM runs JOIN sessions ON sessions.id = runs.session WHERE run_id = ?`;
  return readRow(LogRow, "run_events", database.prepare(sql).get(runId));
}

function readBatches(database: Database, runId: string, after: number, limit: number): z.infer<typeof BatchRow>[] {
  const sql = `SELECT session_id, first_id, last_id, payload
    FROM run_events JOIN runs ON runs.id = run JOIN sessions ON sessions.id = runs.session
    WHERE run = (SELECT id FROM runs WHERE run_id = ?) AND last_id > ? ORDER BY last_id LIMIT ?`;
  return readRows(BatchRow, "run_events", database.prepare(sql).all(runId, after, limit));
}

/**
 * The logs of the runs in SQLite: one row per appended group. The codec keeps messages in the session's own items, so
 * a `values` event of a long session is a few bytes.
 */
export function createEventStore(database: Database, commits: GroupCommit, codec: Codec): EventStore {
  return {
    reserve: (runId, mark) =>
      commits.durably(() => {
        database.prepare("UPDATE runs SET event_mark = max(event_mark, ?) WHERE run_id = ?").run(mark, runId);
      }),

    async append(sessionId, runId, events) {
      const first = events[0];
      const last = events.at(-1);
      if (first === undefined || last === undefined) return;
      await commits.transaction(() => {
        const log = readLog(database, runId);
        if (log?.session_id !== sessionId) {
          throw new AppError("not_found", `Run "${runId}" of session "${sessionId}" not found.`);
        }
        checkOrder(runId, log.last_id, events);
        database
          .prepare("INSERT INTO run_events (run, first_id, last_id, payload) VALUES (?, ?, ?, ?)")
          .run(log.run, first.id, last.id, codec.encode(sessionId, packEvents(events)));
      });
    },

    async read(runId, after, limit) {
      const found: RunEvent[] = [];
      let cursor = after;
      while (found.length < limit) {
        const wanted = Math.min(rowsAtOnce, limit - found.length);
        const rows = database.read(() => readBatches(database, runId, cursor, wanted));
        for (const row of rows) {
          const events = unpackEvents(await codec.decode(row.session_id, row.payload), row.first_id);
          found.push(...events.filter((event) => event.id > cursor));
          cursor = row.last_id;
          // A group may hold the state of a long session: other requests go on between two of them.
          await setImmediate();
        }
        if (rows.length === 0) break;
      }
      return found.slice(0, limit);
    },
  };
}
