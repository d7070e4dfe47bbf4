import { setImmediate as nextTurn } from "node:timers/promises";
import { z } from "zod";
import type { RunEvent } from "../../../run-events.ts";
import type { Codec } from "../../checkpoints/codec.ts";
import { DecodedGroups, unpackEvents } from "../../events/event-batch.ts";
import { LogFollower, type LogSubscriptions, type LogState } from "../../events/follow-events.ts";
import { parseRow, readRow, readRows } from "../../rows.ts";
import type { EventStore } from "../../storage.ts";
import { dataOf } from "../checkpoints/batch.ts";
import { asyncCommit, type PostgresDatabase } from "../database/database.ts";

/** Maximum groups per read of the log: a group is about 50 ms of events. */
const rowsPerRead = 16;
/** Rows that one call of `expire` removes. */
const rowsPerExpiry = 100;

const StandingRow = z.object({ last_id: z.number(), is_over: z.boolean() });
const LastRow = z.object({ last_id: z.number() });
const ExpiredRow = z.object({ runs: z.number() });
const GroupRow = z.object({
  session_id: z.string(),
  first_id: z.number(),
  last_id: z.number(),
});
const DataRow = z.object({
  text: z.string().nullable(),
  bytes: z.instanceof(Uint8Array).nullable(),
});

const selectGroups = `SELECT session_id, first_id, last_id
  FROM runs JOIN sessions ON sessions.id = runs.session JOIN run_events ON run = runs.id
  WHERE run_id = $1 AND last_id > $2 ORDER BY last_id LIMIT $3`;
const selectGroup = `SELECT text, bytes FROM run_events
  WHERE run = (SELECT id FROM runs WHERE run_id = $1) AND last_id = $2`;
/** Removes the oldest rows of the oldest log that is due; see `EventStore.expire`. */
const expirePart = `WITH log AS (
    SELECT id FROM runs WHERE log_kept AND created_at < $1 AND updated_at < $1 AND status NOT IN ('pending', 'running')
    ORDER BY created_at LIMIT 1 FOR UPDATE SKIP LOCKED
  ), part AS (
    SELECT last_id FROM run_events WHERE run = (SELECT id FROM log) ORDER BY last_id LIMIT ${rowsPerExpiry}
  ), gone AS (
    DELETE FROM run_events WHERE run = (SELECT id FROM log) AND last_id IN (SELECT last_id FROM part)
  ), noted AS (
    UPDATE runs SET expired_events = coalesce((SELECT max(last_id) FROM part), expired_events),
      log_kept = (SELECT count(*) FROM part) = ${rowsPerExpiry}
    WHERE id = (SELECT id FROM log) RETURNING id, ${asyncCommit}
  )
  SELECT count(*) AS runs FROM noted`;

/**
 * The logs of the runs in PostgreSQL: one row per group that was stored together. `subscriptions`: notices of other servers
 * about them.
 */
export function createEventStore(
  database: PostgresDatabase,
  codec: Codec,
  subscriptions?: LogSubscriptions,
): EventStore {
  const groups = new DecodedGroups();
  const standing = async (runId: string): Promise<LogState | undefined> => {
    const sql = `SELECT status NOT IN ('pending', 'running') AS is_over,
        coalesce((SELECT max(last_id) FROM run_events WHERE run = runs.id), -1) AS last_id
      FROM runs WHERE run_id = $1`;
    return readRow(StandingRow, "runs", (await database.read(sql, [runId]))[0]);
  };
  /** What a group holds. It can be gone since its row was seen: then it is as if it had been gone before. */
  const group = (runId: string, { session_id, last_id, first_id }: z.infer<typeof GroupRow>): Promise<RunEvent[]> =>
    groups.get(`${runId} ${last_id}`, async () => {
      const [row] = await database.read(selectGroup, [runId, last_id]);
      const data = readRow(DataRow, "run_events", row);
      return data === undefined ? [] : unpackEvents(await codec.decode(session_id, dataOf(data)), first_id);
    });
  const read: EventStore["read"] = async (runId, after, limit) => {
    const found: RunEvent[] = [];
    let cursor = after;
    while (found.length < limit) {
      const page = [runId, cursor, Math.min(rowsPerRead, limit - found.length)];
      const rows = readRows(GroupRow, "run_events", await database.read(selectGroups, page));
      if (rows.length === 0) break;
      // A group may hold many events, and the state of a long session: no more of them are read than are asked for.
      const enough = rows.findIndex(({ last_id }) => last_id >= cursor + limit - found.length);
      const wanted = enough === -1 ? rows : rows.slice(0, enough + 1);
      for (const events of await Promise.all(wanted.map((row) => group(runId, row)))) {
        found.push(...events.filter((event) => event.id > cursor));
        cursor = events.at(-1)?.id ?? cursor;
        // Other requests go on between two of them.
        await nextTurn();
      }
      cursor = wanted.at(-1)?.last_id ?? cursor;
    }
    return found.slice(0, limit);
  };
  const followed = new LogFollower({ read, standing }, subscriptions);
  return {
    read,

    follow: (runId, after, signal) => followed.follow(runId, after, signal),

    async last(runId) {
      const sql = `SELECT coalesce(max(last_id), -1) AS last_id FROM run_events
        WHERE run = (SELECT id FROM runs WHERE run_id = $1)`;
      return parseRow(LastRow, "run_events", (await database.read(sql, [runId]))[0]).last_id;
    },

    async expire(before) {
      return parseRow(ExpiredRow, "runs", (await database.rows(expirePart, [before]))[0]).runs > 0;
    },
  };
}
