import { z } from "zod";
import type { NewTtl, SessionTtl, SessionTtlStore } from "../../record-stores.ts";
import type { Database } from "../database/database.ts";
import { afterMinutes, expiryOf, readRow, readRows, SessionTtlRow, toTtl } from "../../rows.ts";
import type { GroupCommit } from "../database/durable.ts";

const ExpiryRow = z.object({ expires_at: z.string().nullable() });

const select = `SELECT session, sessions.session_id, minutes, strategy, expires_at, sessions.updated_at, sessions.status
  FROM session_ttls JOIN sessions ON sessions.id = session_ttls.session`;
const ofSession = "session = (SELECT id FROM sessions WHERE session_id = @session_id)";
const upsert = `INSERT INTO session_ttls (session, minutes, strategy, expires_at)
  SELECT id, @minutes, @strategy, @expires_at FROM sessions WHERE session_id = @session_id
  ON CONFLICT (session) DO UPDATE SET minutes = excluded.minutes, strategy = excluded.strategy,
    expires_at = excluded.expires_at`;

/** Gives a session its time, from `begun` (milliseconds) on; `undefined` for an unknown one. The caller opens the transaction. */
export function writeTtl(
  database: Database,
  session_id: string,
  { minutes, strategy }: NewTtl,
  begun: number,
): SessionTtl | undefined {
  const row: SessionTtl = { session_id, minutes, strategy, expires_at: afterMinutes(begun, minutes) };
  return database.prepare(upsert).run(row).changes > 0 ? row : undefined;
}

/** The times of sessions in SQLite. `listeners` get the due dates that are written here and with new sessions. */
export function createSessionTtlStore(
  database: Database,
  commits: GroupCommit,
  listeners: ((time: string) => void)[],
): SessionTtlStore {
  const find = (sessionId: string): z.infer<typeof SessionTtlRow> | undefined =>
    readRow(SessionTtlRow, "session_ttls", database.prepare(`${select} WHERE sessions.session_id = ?`).get(sessionId));
  return {
    async set(session_id, ttl) {
      const set = await commits.transaction(() => {
        if (ttl === null) {
          database.prepare(`DELETE FROM session_ttls WHERE ${ofSession}`).run({ session_id });
          return undefined;
        }
        return writeTtl(database, session_id, ttl, Date.now());
      });
      if (set !== undefined) for (const listener of listeners) listener(set.expires_at);
      return set;
    },

    async moveOn(session_id, time) {
      const update = `UPDATE session_ttls SET expires_at = @time WHERE ${ofSession}`;
      await commits.transaction(() => database.prepare(update).run({ session_id, time }));
    },

    onExpiry: (listener) => void listeners.push(listener),

    get: async (sessionId) => {
      const row = database.read(() => find(sessionId));
      return row === undefined ? undefined : toTtl(row);
    },

    due: () =>
      commits.transaction(() => {
        const now = new Date().toISOString();
        const rows = readRows(
          SessionTtlRow,
          "session_ttls",
          database.prepare(`${select} WHERE expires_at <= ? ORDER BY expires_at`).all(now),
        );
        const [due, moved] = [rows.filter((row) => expiryOf(row) <= now), rows.filter((row) => expiryOf(row) > now)];
        const update = database.prepare("UPDATE session_ttls SET expires_at = ? WHERE session = ?");
        for (const row of moved) update.run(expiryOf(row), row.session);
        return due.map(toTtl);
      }),

    next: async () =>
      database.read(
        () =>
          readRow(
            ExpiryRow,
            "session_ttls",
            database.prepare("SELECT min(expires_at) AS expires_at FROM session_ttls").get(),
          )?.expires_at ?? undefined,
      ),
  };
}
