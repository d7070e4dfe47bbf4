import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { concurrentChange } from "../../admission.ts";
import { parseRow, readRow } from "../../rows.ts";
import { asyncCommit, type PostgresDatabase } from "../database/database.ts";
import { type SessionLease, currentSessionLease } from "../database/fenced-database.ts";

/** Seconds until a lease expires without renewal, and milliseconds between two renewals. */
const [lease, beat] = [10, 3_000];
/** Milliseconds to wait for a lease, and between two attempts. */
const [patience, pause] = [10_000, 50];

const TurnRow = z.object({ is_there: z.boolean(), is_taken: z.boolean() });

const until = `now() + interval '${lease} seconds'`;
const take = `WITH t AS (
    UPDATE sessions SET turn = $2, turn_until = ${until}
    WHERE session_id = $1 AND (turn_until IS NULL OR turn_until < now()) RETURNING id, ${asyncCommit}
  ) SELECT EXISTS (SELECT FROM t) AS is_taken, EXISTS (SELECT FROM sessions WHERE session_id = $1) AS is_there`;
/** An expired lease cannot be renewed: a run may have started since, also while this waited for the row. */
const renew = `UPDATE sessions SET turn_until = ${until} WHERE session_id = $1 AND turn = $2 AND turn_until >= clock_timestamp() RETURNING ${asyncCommit}`;
/** Returns whether runs wait for the end of the lease. */
const release = `UPDATE sessions SET turn = NULL, turn_until = NULL WHERE session_id = $1 AND turn = $2
  RETURNING EXISTS (SELECT FROM open_runs WHERE session = sessions.id) AS are_waiting, ${asyncCommit}`;
const ReleasedRow = z.object({ are_waiting: z.boolean() });

/**
 * `SessionStore.withLease`: a lease in the session's row, which admissions and claims respect. The lease of a server that
 * crashes expires after some seconds, and `FencedDatabase` then refuses its writes. An unknown session needs no lease. `free`
 * is called when runs wait for its end.
 */
export async function withSessionLease<Result>(
  database: PostgresDatabase,
  sessionId: string,
  work: () => Promise<Result>,
  free: () => void,
): Promise<Result> {
  const under: SessionLease = { session_id: sessionId, token: crypto.randomUUID(), by: database, isOver: false };
  const turn = [sessionId, under.token];
  for (let waited = 0; ; waited += pause) {
    const { is_there, is_taken } = parseRow(TurnRow, "sessions", (await database.rows(take, turn))[0]);
    if (!is_there) return await work();
    if (is_taken) break;
    if (waited >= patience) throw concurrentChange();
    await sleep(pause);
  }
  const timer = setInterval(() => void database.change(renew, turn).catch(() => undefined), beat);
  try {
    return await currentSessionLease.run(under, work);
  } finally {
    under.isOver = true;
    clearInterval(timer);
    // During an outage of PostgreSQL the lease expires by itself.
    const [released] = await database.rows(release, turn).catch(() => []);
    if (readRow(ReleasedRow, "sessions", released)?.are_waiting === true) free();
  }
}
