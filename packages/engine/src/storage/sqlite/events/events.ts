import { setImmediate as nextTurn } from "node:timers/promises";
import { z } from "zod";
import { AppError } from "../../../errors/errors.ts";
import type { RunEvent } from "../../../run-events.ts";
import { type RunWriter, attemptSuperseded } from "../../attempt-store.ts";
import type { EventStore } from "../../storage.ts";
import type { UsageEntry } from "../../usage.ts";
import type { Codec } from "../../checkpoints/codec.ts";
import type { Database } from "../database/database.ts";
import { readRow, parseRow, readRows } from "../../rows.ts";
import type { GroupCommit } from "../database/durable.ts";
import { requireAttempt } from "../records/run-statements.ts";
import { storeUsage } from "../records/usage.ts";
import { DecodedGroups, packEvents, unpackEvents } from "../../events/event-batch.ts";
import { LogFollower, type LogState } from "../../events/follow-events.ts";

/** Maximum rows per read of the log: a row holds one group, about 50 ms of events. */
const rowsPerRead = 16;
/** Rows that one call of `expire` removes: a commit of some milliseconds. */
const rowsPerExpiry = 100;

const LogRow = z.object({
  run: z.number(),
  session_id: z.string(),
  attempt: z.number(),
  expired_events: z.number(),
  last_id: z.number(),
});
const OldLogRow = z.object({ id: z.number() });
const PartRow = z.object({ last_id: z.number().nullable(), count: z.number() });
const StandingRow = LogRow.pick({ last_id: true }).extend({ is_over: z.number().transform(Boolean) });
const BatchRow = z.object({
  session_id: z.string(),
  first_id: z.number(),
  last_id: z.number(),
});
const PayloadRow = z.object({ payload: z.union([z.string(), z.instanceof(Buffer)]) });

/** Where a run's log stands; `last_id` is -1 when it is empty. */
function readLog(database: Database, runId: string): z.infer<typeof LogRow> | undefined {
  const sql = `SELECT runs.id AS run, session_id, attempt, expired_events,
      coalesce((SELECT max(last_id) FROM run_events WHERE run = runs.id), -1) AS last_id
    FROM runs JOIN sessions ON sessions.id = runs.session WHERE run_id = ?`;
  return readRow(LogRow, "run_events", database.prepare(sql).get(runId));
}

function readBatches(database: Database, runId: string, after: number, limit: number): z.infer<typeof BatchRow>[] {
  const sql = `SELECT session_id, first_id, last_id
    FROM run_events JOIN runs ON runs.id = run JOIN sessions ON sessions.id = runs.session
    WHERE run = (SELECT id FROM runs WHERE run_id = ?) AND last_id > ? ORDER BY last_id LIMIT ?`;
  return readRows(BatchRow, "run_events", database.prepare(sql).all(runId, after, limit));
}

/** What a run writes at once: events, which may be none, and the usage of model calls. */
interface EventsAndUsage {
  events: RunEvent[];
  usage: readonly UsageEntry[];
}

/** Stores events as one group, and the usage, in the caller's transaction. */
export function storeEvents(database: Database, codec: Codec, of: RunWriter, { events, usage }: EventsAndUsage): void {
  const { session_id, run_id, attempt } = of;
  if (usage.length > 0) storeUsage(database, run_id, usage);
  if (attempt === undefined && events.length === 0) return;
  const log = readLog(database, run_id);
  if (log?.session_id !== session_id) {
    throw new AppError("not_found", `Run "${run_id}" of session "${session_id}" not found.`);
  }
  if (attempt !== undefined && attempt !== log.attempt) throw attemptSuperseded(of, log.attempt);
  const first = events[0];
  const last = events.at(-1);
  if (first === undefined || last === undefined) return;
  let previous = Math.max(log.last_id, log.expired_events);
  for (const { id } of events) {
    if (id <= previous) {
      throw new AppError("invalid_state", `Expected an event id above ${previous} in run "${run_id}", got ${id}.`);
    }
    previous = id;
  }
  database
    .prepare("INSERT INTO run_events (run, first_id, last_id, payload) VALUES (?, ?, ?, ?)")
    .run(log.run, first.id, last.id, codec.encode(session_id, packEvents(events)));
}

/** `AttemptStore.reserve` in the caller's transaction. */
export function reserveIds(database: Database, of: RunWriter, mark: number): void {
  requireAttempt(database, of);
  database.prepare("UPDATE runs SET event_mark = max(event_mark, ?) WHERE run_id = ?").run(mark, of.run_id);
}

/** Removes the oldest rows of the oldest log that is due; see `EventStore.expire`. */
function expirePart(database: Database, before: string): boolean {
  const due = `SELECT id FROM runs WHERE log_kept = 1 AND updated_at < ? AND status NOT IN ('pending', 'running')
    ORDER BY updated_at LIMIT 1`;
  const log = readRow(OldLogRow, "runs", database.prepare(due).get(before));
  if (log === undefined) return false;
  const part = `SELECT max(last_id) AS last_id, count(*) AS count FROM (
      SELECT last_id FROM run_events WHERE run = ? ORDER BY last_id LIMIT ?
    )`;
  const row = database.prepare(part).get(log.id, rowsPerExpiry);
  const { last_id, count } = parseRow(PartRow, "run_events", row);
  if (last_id !== null) {
    database.prepare("DELETE FROM run_events WHERE run = ? AND last_id <= ?").run(log.id, last_id);
    database.prepare("UPDATE runs SET expired_events = ? WHERE id = ?").run(last_id, log.id);
  }
  if (count < rowsPerExpiry) database.prepare("UPDATE runs SET log_kept = 0 WHERE id = ?").run(log.id);
  return true;
}

function readStanding(database: Database, runId: string): LogState | undefined {
  const sql = `SELECT status NOT IN ('pending', 'running') AS is_over,
      coalesce((SELECT max(last_id) FROM run_events WHERE run = runs.id), -1) AS last_id
    FROM runs WHERE run_id = ?`;
  return readRow(StandingRow, "runs", database.prepare(sql).get(runId));
}

/** What a group holds. It can be gone since its row was seen: then it is as if it had been gone before. */
async function readGroup(
  database: Database,
  codec: Codec,
  runId: string,
  { session_id, first_id, last_id }: z.infer<typeof BatchRow>,
): Promise<RunEvent[]> {
  const sql = "SELECT payload FROM run_events WHERE run = (SELECT id FROM runs WHERE run_id = ?) AND last_id = ?";
  const found = database.read(() => readRow(PayloadRow, "run_events", database.prepare(sql).get(runId, last_id)));
  return found === undefined ? [] : unpackEvents(await codec.decode(session_id, found.payload), first_id);
}

/**
 * The logs of the runs in SQLite: one row per appended group. The codec keeps messages in the session's own items, so a
 * `values` event of a long session is a few bytes.
 */
export function createEventStore(database: Database, commits: GroupCommit, codec: Codec): EventStore {
  const groups = new DecodedGroups();
  const standing = async (runId: string) => database.read(() => readStanding(database, runId));
  const read: EventStore["read"] = async (runId, after, limit) => {
    const found: RunEvent[] = [];
    let cursor = after;
    while (found.length < limit) {
      const wanted = Math.min(rowsPerRead, limit - found.length);
      const rows = database.read(() => readBatches(database, runId, cursor, wanted));
      for (const row of rows) {
        const events = await groups.get(`${runId} ${row.last_id}`, () => readGroup(database, codec, runId, row));
        found.push(...events.filter((event) => event.id > cursor));
        cursor = row.last_id;
        // A group may hold the state of a long session: other requests go on between two of them.
        await nextTurn();
        if (found.length >= limit) break;
      }
      if (rows.length === 0) break;
    }
    return found.slice(0, limit);
  };
  const followed = new LogFollower({ read, standing });
  return {
    read,

    last: async (runId) => database.read(() => readLog(database, runId))?.last_id ?? -1,

    follow: (runId, after, signal) => followed.follow(runId, after, signal),

    expire: (before) => commits.transaction(() => expirePart(database, before)),
  };
}
