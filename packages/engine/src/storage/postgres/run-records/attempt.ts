import { z } from "zod";
import { clusterDate } from "../../../concurrency/cluster-time.ts";
import {
  type AttemptStore,
  begunRuns,
  type Ledger,
  noEvents,
  RollbackRequired,
  type RunOutcome,
  type RunWriter,
  SessionMovedOn,
} from "../../attempt-store.ts";
import { changeOfRun, changeOfStatus } from "../../changes.ts";
import { type Run, SessionStatus } from "../../records.ts";
import { parseRow, readRow } from "../../rows.ts";
import type { PostgresDatabase, Statements } from "../database/database.ts";
import type { AttemptStream, EndFence } from "../checkpoints/stream.ts";
import { followSession } from "../records/approvals.ts";
import type { PeerNotifier } from "../notifications/peer-notifier.ts";
import { failFenced } from "./fence.ts";
import { createLedger } from "./ledger.ts";
import { createOperationStore } from "./operations.ts";
import { marksOf, runColumns, StoredRun, toMarks } from "./run-rows.ts";

const Outcome = z.object({ outcome: z.enum(["ended", "approvals", "refused", "rollback"]) });
const SessionRow = z.object({ session_status: SessionStatus });

/** An end that is to be written. `asks`: whether the run leaves questions. */
interface End {
  of: RunWriter;
  outcome: RunOutcome;
  asks: boolean;
  now: string;
  /** What is written with it. */
  fence: EndFence;
  /** The answer to a former try was lost. */
  again: boolean;
}

/** A run that has ended, and what its session has become. */
interface Ended {
  run: Run;
  left: SessionStatus;
}

/**
 * What `millrace_finish_v4` answers: the run that has ended, "approvals" where questions are to be followed, "refused" where
 * what is written with it was. Throws `RollbackRequired`.
 */
async function end(
  statements: Statements,
  { of, outcome, asks, now, fence, again }: End,
  follows: boolean,
): Promise<Ended | "approvals" | "refused" | undefined> {
  const { status, error = null, session_status, interrupts, ended_at = now, webhook, isRemoved = false } = outcome;
  const sql = `SELECT outcome, session_status, ${runColumns}
    FROM millrace_finish_v4($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14,
      $15, $16, $17, $18, $19) AS ended
    LEFT JOIN LATERAL (SELECT (ended.run).*) AS runs ON true`;
  const [row] = await statements.rows(sql, [
    of.run_id,
    of.attempt ?? null,
    status,
    JSON.stringify(error),
    ended_at,
    session_status,
    JSON.stringify(interrupts),
    asks,
    follows,
    // An address is a JSON text: PostgreSQL takes no NUL and no half of a surrogate pair.
    webhook === undefined ? null : JSON.stringify(webhook.url),
    webhook?.host ?? null,
    webhook?.body ?? null,
    now,
    again,
    of.session_id,
    fence.writes ?? null,
    fence.rows ?? null,
    of.server ?? null,
    isRemoved,
  ]);
  const found = readRow(Outcome, "runs", row)?.outcome;
  if (found === "rollback") throw new RollbackRequired(of.run_id);
  if (found !== "ended") return found;
  const run = parseRow(StoredRun, "runs", row);
  const { session_status: left } = parseRow(SessionRow, "sessions", row);
  statements.recordChanges(
    changeOfRun("changed", run),
    changeOfStatus(run.session_id, { status: left, updated_at: now }),
  );
  return { run, left };
}

/** Throws `SessionMovedOn`; otherwise no run of the session begins or ends before the transaction does. */
async function requireUnmoved(statements: Statements, { session_id }: RunWriter, readAt: string): Promise<void> {
  await statements.rows("SELECT FROM sessions WHERE session_id = $1 FOR NO KEY UPDATE", [session_id]);
  if (begunRuns(toMarks(await statements.read(marksOf, [session_id]))) !== readAt) throw new SessionMovedOn(session_id);
}

/**
 * `AttemptStore.finish`. One statement; more where questions wait or are left, or where other runs of the session matter: what
 * that means is decided here.
 */
async function finish(
  database: PostgresDatabase,
  { of, outcome, fence }: Pick<End, "of" | "outcome" | "fence">,
  peers: PeerNotifier,
): Promise<Run | "refused" | undefined> {
  const { interrupts, readAt } = outcome;
  const asks = Object.values(interrupts).some((asked) => asked.length > 0);
  const now = clusterDate();
  const ended = await database.once(async (again) => {
    const ending: End = { of, outcome, asks, now, fence, again };
    const alone = asks || readAt !== undefined ? "approvals" : await end(database, ending, false);
    if (alone !== "approvals") return alone;
    return await database.transaction(async (statements) => {
      if (readAt !== undefined) await requireUnmoved(statements, of, readAt);
      const followed = await end(statements, ending, true);
      if (followed === undefined || followed === "refused") return followed;
      if (followed === "approvals") throw new Error("Questions are followed in this transaction.");
      await followSession(statements, { session_id: followed.run.session_id, interrupts });
      return followed;
    });
  });
  if (ended === undefined || ended === "refused") return ended;
  if (ended.left === "busy") peers.sessionFree(ended.run.session_id);
  return ended.run;
}

/**
 * The writer, its stream, which servers its end concerns, and what an effect has to wait for; see
 * `ServerLease.confirm`.
 */
interface Writing {
  of: RunWriter;
  stream: AttemptStream;
  peers: PeerNotifier;
  trusted: () => Promise<void>;
}

/** What an attempt writes for its run beside its stream of events and checkpoints. */
export function createAttemptRecords(
  database: PostgresDatabase,
  { of, stream, peers, trusted }: Writing,
): Pick<AttemptStore, "reserve" | "finish" | "park" | "release" | "ledger" | "operations"> {
  const writer = [of.run_id, of.attempt ?? null, of.server ?? null];
  const isOwn = "($2::int IS NULL OR attempt = $2) AND ($3::bigint IS NULL OR owner = $3)";
  return {
    reserve: (mark) =>
      database.once(async () => {
        const sql = `UPDATE runs SET event_mark = greatest(event_mark, $4) WHERE run_id = $1 AND ${isOwn}`;
        const isReserved = (await database.change(sql, [...writer, mark])) > 0;
        if (!isReserved && of.attempt !== undefined) await failFenced(database, of);
      }, true),

    finish: (outcome, unstored = noEvents) =>
      unstored.flushWith((events, usage) =>
        stream.end({ events, usage }, (fence) =>
          database.inOrder(`session ${of.session_id}`, () => finish(database, { of, outcome, fence }, peers)),
        ),
      ),

    park: () =>
      database.once(async () => {
        const sql = `UPDATE runs SET parked = true WHERE run_id = $1 AND status = 'running' AND ${isOwn}`;
        await database.change(sql, writer);
      }),

    release: () =>
      database.once(async () => {
        const sql = `UPDATE runs SET parked = true, owner = NULL WHERE run_id = $1 AND status = 'running' AND ${isOwn}`;
        if ((await database.change(sql, writer)) > 0) peers.runsReleased();
      }),

    ledger: withTrust(createLedger(database, of, stream), trusted),
    operations: createOperationStore(database, of, stream),
  };
}

/** The ledger, but an effect begins only while no other server can have taken the run: it may have been a while. */
function withTrust(ledger: Ledger, trusted: () => Promise<void>): Ledger {
  return {
    ...ledger,
    async start(call) {
      const answer = await ledger.start(call);
      await trusted();
      return answer;
    },
    confirm: trusted,
  };
}
