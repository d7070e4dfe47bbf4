import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { isChanged } from "../../admission.ts";
import { parseRow, readRow } from "../../rows.ts";
import { later, type PostgresDatabase } from "../database/database.ts";
import { type Turn, turnUnderWay } from "../database/turn-database.ts";

/** Seconds that a turn lasts without being renewed, and milliseconds between two renewals. */
const [lease, beat] = [10, 3_000];
/** Milliseconds that one waits for its turn, and between two looks. */
const [patience, pause] = [10_000, 50];

const TurnRow = z.object({ is_there: z.boolean(), is_taken: z.boolean() });

const until = `now() + interval '${lease} seconds'`;
const take = `WITH t AS (
    UPDATE sessions SET turn = $2, turn_until = ${until}
    WHERE session_id = $1 AND (turn_until IS NULL OR turn_until < now()) RETURNING id, ${later}
  ) SELECT EXISTS (SELECT FROM t) AS is_taken, EXISTS (SELECT FROM sessions WHERE session_id = $1) AS is_there`;
/** One that has run out is lost: a run may have begun since. */
const renew = `UPDATE sessions SET turn_until = ${until} WHERE session_id = $1 AND turn = $2 AND turn_until >= now() RETURNING ${later}`;
/** Says whether runs wait for the end of the turn. */
const release = `UPDATE sessions SET turn = NULL, turn_until = NULL WHERE session_id = $1 AND turn = $2
  RETURNING EXISTS (SELECT FROM open_runs WHERE session = sessions.id) AS are_waiting, ${later}`;
const ReleasedRow = z.object({ are_waiting: z.boolean() });

/**
 * `SessionStore.inTurn`: a lease in the session's row, which admissions and claims ask for. A server that ends in the midst of
 * it loses it after some seconds, and what it writes in it is refused then; see `TurnDatabase`. Of a session that is not there, nothing is taken. `free` is called where runs wait for its end.
 */
export async function inTurn<Result>(
  database: PostgresDatabase,
  sessionId: string,
  work: () => Promise<Result>,
  free: () => void,
): Promise<Result> {
  const under: Turn = { session_id: sessionId, token: crypto.randomUUID(), by: database, isOver: false };
  const turn = [sessionId, under.token];
  for (let waited = 0; ; waited += pause) {
    const { is_there, is_taken } = parseRow(TurnRow, "sessions", (await database.rows(take, turn))[0]);
    if (!is_there) return await work();
    if (is_taken) break;
    if (waited >= patience) throw isChanged();
    await sleep(pause);
  }
  const timer = setInterval(() => void database.change(renew, turn).catch(() => undefined), beat);
  try {
    return await turnUnderWay.run(under, work);
  } finally {
    under.isOver = true;
    clearInterval(timer);
    // Where PostgreSQL is away the turn runs out by itself.
    const [released] = await database.rows(release, turn).catch(() => []);
    if (readRow(ReleasedRow, "sessions", released)?.are_waiting === true) free();
  }
}
