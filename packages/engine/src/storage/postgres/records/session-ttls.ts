import { z } from "zod";
import { clusterDate, clusterTime } from "../../../concurrency/cluster-time.ts";
import type { SessionTtl, SessionTtlStore } from "../../record-stores.ts";
import { afterMinutes, expiryOf, readRow, readRows, SessionTtlRow, toTtl } from "../../rows.ts";
import { asyncCommit, type PostgresDatabase } from "../database/database.ts";

const ExpiryRow = z.object({ expires_at: z.string().nullable() });

const select = `SELECT session, sessions.session_id, minutes, strategy, expires_at, sessions.updated_at, sessions.status
  FROM session_ttls JOIN sessions ON sessions.id = session_ttls.session`;
const ofSession = "session = (SELECT id FROM sessions WHERE session_id = $1)";
const upsert = `INSERT INTO session_ttls (session, minutes, strategy, expires_at)
  SELECT id, $2, $3, $4 FROM sessions WHERE session_id = $1
  ON CONFLICT (session) DO UPDATE SET minutes = excluded.minutes, strategy = excluded.strategy,
    expires_at = excluded.expires_at
  RETURNING ${asyncCommit}`;

/** The times of sessions in PostgreSQL. `listeners` get the due dates that are written here and with new sessions. */
export function createSessionTtlStore(
  database: PostgresDatabase,
  listeners: ((time: string) => void)[],
): SessionTtlStore {
  return {
    async set(session_id, ttl) {
      if (ttl === null) {
        await database.rows(`DELETE FROM session_ttls WHERE ${ofSession} RETURNING ${asyncCommit}`, [session_id]);
        return undefined;
      }
      const { minutes, strategy } = ttl;
      const set: SessionTtl = { session_id, minutes, strategy, expires_at: afterMinutes(clusterTime(), minutes) };
      const written = await database.rows(upsert, [session_id, minutes, strategy, set.expires_at]);
      if (written.length === 0) return undefined;
      for (const listener of listeners) listener(set.expires_at);
      return set;
    },

    async moveOn(sessionId, time) {
      const sql = `UPDATE session_ttls SET expires_at = $2 WHERE ${ofSession} RETURNING ${asyncCommit}`;
      await database.rows(sql, [sessionId, time]);
    },

    onExpiry: (listener) => void listeners.push(listener),

    async get(sessionId) {
      const [row] = await database.read(`${select} WHERE session_id = $1`, [sessionId]);
      const found = readRow(SessionTtlRow, "session_ttls", row);
      return found === undefined ? undefined : toTtl(found);
    },

    async due() {
      const now = clusterDate();
      const sql = `${select} WHERE expires_at <= $1 ORDER BY expires_at`;
      const rows = readRows(SessionTtlRow, "session_ttls", await database.read(sql, [now]));
      const moved = rows.filter((row) => expiryOf(row) > now);
      if (moved.length > 0) {
        // Unless it was given another time since.
        const move = `UPDATE session_ttls SET expires_at = moved.expires_at
          FROM unnest($1::bigint[], $2::text[], $3::text[]) AS moved (session, expires_at, former)
          WHERE session_ttls.session = moved.session AND session_ttls.expires_at = moved.former RETURNING ${asyncCommit}`;
        const columns = [moved.map((row) => row.session), moved.map(expiryOf), moved.map((row) => row.expires_at)];
        await database.rows(move, columns);
      }
      return rows.filter((row) => expiryOf(row) <= now).map(toTtl);
    },

    async next() {
      const [row] = await database.read("SELECT min(expires_at) AS expires_at FROM session_ttls");
      return readRow(ExpiryRow, "session_ttls", row)?.expires_at ?? undefined;
    },
  };
}
