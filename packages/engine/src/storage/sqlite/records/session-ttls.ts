import { z } from "zod";
import { SessionTtl, type SessionTtlStore } from "../../record-stores.ts";
import type { Database } from "../database/database.ts";
import { readRow, readRows } from "../../rows.ts";
import type { GroupCommit } from "../database/durable.ts";

const TtlRow = SessionTtl.extend({ session: z.number(), updated_at: z.string(), status: z.string() });
type TtlRow = z.infer<typeof TtlRow>;
const ExpiryRow = z.object({ expires_at: z.string().nullable() });

const select = `SELECT session, sessions.session_id, minutes, strategy, expires_at, sessions.updated_at, sessions.status
  FROM session_ttls JOIN sessions ON sessions.id = session_ttls.session`;
const ofSession = "session = (SELECT id FROM sessions WHERE session_id = @session_id)";
const upsert = `INSERT INTO session_ttls (session, minutes, strategy, expires_at)
  SELECT id, @minutes, @strategy, @expires_at FROM sessions WHERE session_id = @session_id
  ON CONFLICT (session) DO UPDATE SET minutes = excluded.minutes, strategy = excluded.strategy,
    expires_at = excluded.expires_at`;

function later(time: number, minutes: number): string {
  return new Date(Math.min(time + minutes * 60_000, 8.64e15)).toISOString();
}

/** When the time of a session is over that was touched as its row says; of one at work not before its time has passed again. */
function expiryOf({ status, updated_at, minutes, expires_at }: TtlRow): string {
  const since = later(status === "busy" ? Date.now() : Date.parse(updated_at), minutes);
  return since > expires_at ? since : expires_at;
}

function toTtl(row: TtlRow): SessionTtl {
  const { session_id, minutes, strategy } = row;
  return { session_id, minutes, strategy, expires_at: expiryOf(row) };
}

/** The times of sessions in SQLite. */
export function createSessionTtlStore(database: Database, commits: GroupCommit): SessionTtlStore {
  const find = (sessionId: string): TtlRow | undefined =>
    readRow(TtlRow, "session_ttls", database.prepare(`${select} WHERE sessions.session_id = ?`).get(sessionId));
  const listeners: ((time: string) => void)[] = [];
  return {
    async set(session_id, ttl) {
      const set = await commits.transaction(() => {
        if (ttl === null) {
          database.prepare(`DELETE FROM session_ttls WHERE ${ofSession}`).run({ session_id });
          return undefined;
        }
        const { minutes, strategy } = ttl;
        const row: SessionTtl = { session_id, minutes, strategy, expires_at: later(Date.now(), minutes) };
        return database.prepare(upsert).run(row).changes > 0 ? row : undefined;
      });
      if (set !== undefined) for (const tell of listeners) tell(set.expires_at);
      return set;
    },

    async moveOn(session_id, time) {
      const update = `UPDATE session_ttls SET expires_at = @time WHERE ${ofSession}`;
      await commits.transaction(() => database.prepare(update).run({ session_id, time }));
    },

    onExpiry: (tell) => void listeners.push(tell),

    get: async (sessionId) => {
      const row = database.read(() => find(sessionId));
      return row === undefined ? undefined : toTtl(row);
    },

    due: () =>
      commits.transaction(() => {
        const now = new Date().toISOString();
        const rows = readRows(
          TtlRow,
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
