import { z } from "zod";
import { AppError } from "../../../errors/errors.ts";
import { type RunWriter, attemptSuperseded } from "../../attempt-store.ts";
import { parseRow, readRow } from "../../rows.ts";
import type { Statements, Values } from "../database/database.ts";

/**
 * The fence of a write that may run in parallel with others of its attempt: they share a lock on the run's row, and a server
 * that takes over the run waits for it. `$1` is the run, `$2` the attempt; without an attempt there is no fence. `server`: the
 * parameter of the owning server, such as `$3`.
 */
export const lockFencedRun = (server: string, further = ""): string =>
  `f AS (SELECT id FROM runs WHERE run_id = $1 AND attempt = $2 AND (${server}::bigint IS NULL OR owner = ${server}) ${further}
    FOR KEY SHARE)`;
/** Whether the attempt still owns the run. */
export const fenceHolds = "($2::int IS NULL OR EXISTS (SELECT FROM f))";

/** The state of an attempt's stream; see `AttemptStream`. */
export interface StreamState {
  /** How many of its writes PostgreSQL has confirmed. */
  readonly confirmed: number;
  /** Whether it was given up. */
  readonly isLost: boolean;
  /** Gives up the attempt, since PostgreSQL has lost some of them. The error to throw. */
  giveUp(): AppError;
}

const Written = z.object({ has_session: z.boolean(), is_held: z.boolean(), written: z.array(z.unknown()) });
const AttemptRow = z.object({ attempt: z.int(), writes: z.number() });

/** The run and the attempt as the values `$1` and `$2`. */
export function writerValues(of: RunWriter | undefined): [string, number | null] {
  return [of?.run_id ?? "", of?.attempt ?? null];
}

/** Throws the reason for a failed fence: `conflict` when another attempt owns the run, `not_found` without the run. */
export async function failFenced(database: Statements, of: RunWriter, stream?: StreamState): Promise<never> {
  const [row] = await database.read("SELECT attempt, writes FROM runs WHERE run_id = $1", [of.run_id]);
  const current = readRow(AttemptRow, "runs", row);
  if (current === undefined) throw new AppError("not_found", `Run "${of.run_id}" not found.`);
  if (stream !== undefined && current.attempt === of.attempt && current.writes < stream.confirmed)
    throw stream.giveUp();
  throw attemptSuperseded(of, current.attempt);
}

/**
 * Who writes, and in which session. Of no run, nothing is held. `stream`: nothing is written where PostgreSQL has lost what
 * it had confirmed of that, since an effect would be one of a state that is gone.
 */
interface FencedBy {
  of: RunWriter | undefined;
  sessionId: string;
  stream?: StreamState | undefined;
}

/**
 * Writes for an attempt, or for no run, in one statement. `parts`: further parts of it after the fence, where `a` has the
 * session's key as `id` unless the attempt is over, and `w` is what was written; values begin with `$4`. Gives the rows of
 * `w`; `undefined` without the session. Throws what `failFenced` throws.
 */
export async function writeFencedIfThere(
  database: Statements,
  { of, sessionId, stream }: FencedBy,
  parts: string,
  values: Values,
): Promise<unknown[] | undefined> {
  const [server, writes] = [`$${values.length + 4}`, `$${values.length + 5}`];
  const statement = `WITH ${lockFencedRun(server, `AND writes >= ${writes}`)}, s AS (SELECT id FROM sessions WHERE session_id = $3),
    a AS (SELECT id FROM s WHERE ${fenceHolds}), ${parts}
    SELECT EXISTS (SELECT FROM s) AS has_session, ${fenceHolds} AS is_held,
      coalesce((SELECT json_agg(w) FROM w), '[]') AS written`;
  const standing = [of?.server ?? null, stream?.confirmed ?? 0];
  const [row] = await database.rows(statement, [...writerValues(of), sessionId, ...values, ...standing]);
  const { has_session, is_held, written } = parseRow(Written, "runs", row);
  if (!has_session) return undefined;
  if (!is_held && of !== undefined) return await failFenced(database, of, stream);
  return written;
}

/** `writeFencedIfThere`, which throws `not_found` without the session. */
export async function writeFenced(
  database: Statements,
  by: FencedBy,
  parts: string,
  values: Values,
): Promise<unknown[]> {
  const written = await writeFencedIfThere(database, by, parts, values);
  if (written === undefined) throw new AppError("not_found", `Session "${by.sessionId}" not found.`);
  return written;
}
