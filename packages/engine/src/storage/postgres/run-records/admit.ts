import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { clusterDate } from "../../../concurrency/cluster-time.ts";
import {
  runExists,
  concurrentChange,
  cronNotDue,
  idempotencyKeyReused,
  queueFull,
  threadBusy,
} from "../../admission.ts";
import { AppError, assertNever } from "../../../errors/errors.ts";
import { changeOfRun, changeOfStatus } from "../../changes.ts";
import type { Run } from "../../records.ts";
import { parseRow } from "../../rows.ts";
import type { Admission, Admitted } from "../../storage.ts";
import type { PostgresDatabase, Statements } from "../database/database.ts";
import { isTaken } from "../database/errors.ts";
import { recordAnswers } from "../records/approvals.ts";
import { byId, toRun } from "./run-rows.ts";

const Outcome = z.object({
  outcome: z.enum([
    "no session",
    "known",
    "other request",
    "busy",
    "turn",
    "queue is full",
    "share is full",
    "id is taken",
    "answers",
    "not due",
    "pending",
    "taken",
    "done before",
  ]),
  known_run: z.string().nullable(),
  has_states: z.boolean().nullable(),
});

/** One try to admit a run. */
interface Attempt {
  run: Run;
  admission: Admission;
  /** Whether the answers that come with it are recorded. */
  isAnswered: boolean;
  /** When the run begins, where it does at once (ISO date). */
  now: string;
  /** The answer to a former try was lost. */
  again: boolean;
  /** In whose hand the run is then. */
  server: number;
  /** The folder that it works in. */
  workspace: string | null;
}

async function ask(statements: Statements, attempt: Attempt): Promise<z.infer<typeof Outcome>> {
  const { run, admission, isAnswered, now, again, server, workspace } = attempt;
  const { submission, cron, queueLimit, ownerQueueLimit, hasRoom, answer } = admission;
  const { graph_id, assistant_id } = run;
  // The two keys in their order, without the braces: they are put behind those of the session.
  const graph = JSON.stringify({ graph_id, assistant_id }).slice(1, -1);
  const answers = (run.kwargs.command?.["resume"] ?? undefined) !== undefined || answer !== undefined;
  const values = [
    run.session_id,
    run.run_id,
    assistant_id,
    graph_id,
    JSON.stringify(run.kwargs),
    JSON.stringify(run.metadata),
    run.multitask_strategy,
    run.kwargs.temporary,
    run.attempt,
    run.event_mark,
    JSON.stringify(run.error),
    run.created_at,
    run.updated_at,
    submission?.key ?? null,
    submission?.hash ?? null,
    queueLimit ?? null,
    ownerQueueLimit ?? null,
    cron?.cron_id ?? null,
    cron?.due ?? null,
    cron?.next ?? null,
    hasRoom === true,
    graph,
    answers,
    isAnswered,
    now,
    again,
    server,
    workspace,
  ];
  const places = values.map((_, index) => `$${index + 1}`).join(", ");
  try {
    const [row] = await statements.rows(
      `SELECT outcome, known_run, has_states FROM millrace_admit_v5(${places})`,
      values,
    );
    return parseRow(Outcome, "runs", row);
  } catch (error) {
    if (isTaken(error)) throw runExists(run);
    throw error;
  }
}

/** What came of a try, and what it has changed; throws where the run was not claimed. */
async function settle(
  statements: Statements,
  { run, admission, now }: Attempt,
  { outcome, known_run }: z.infer<typeof Outcome>,
): Promise<Admitted> {
  switch (outcome) {
    case "no session":
      throw new AppError("not_found", `Session "${run.session_id}" not found.`);
    case "known": {
      const known = toRun(await statements.read(byId, [known_run]));
      // It was removed since.
      if (known === undefined) throw new AppError("not_found", `Run "${known_run}" not found.`);
      return { run: known };
    }
    case "other request":
      throw idempotencyKeyReused(admission.submission?.key);
    case "turn":
      throw concurrentChange();
    case "busy":
      throw threadBusy();
    case "queue is full":
      throw queueFull(`${admission.queueLimit} runs`);
    case "share is full":
      throw queueFull(`${admission.ownerQueueLimit} runs of this owner`);
    case "id is taken":
      throw runExists(run);
    case "not due":
      throw cronNotDue(admission.cron);
    case "answers":
      throw new AppError("invalid_state", `The answers of run "${run.run_id}" are not recorded.`);
    case "done before": {
      const row = toRun(await statements.read(byId, [run.run_id]));
      return admitted(statements, { ...run, kwargs: row?.kwargs ?? run.kwargs }, row?.started_at);
    }
    case "pending":
      return admitted(statements, run);
    case "taken":
      return admitted(statements, run, now);
    default:
      return assertNever(outcome);
  }
}

/** The admitted run, and its claim where it was claimed at once. Publishes the changes. */
function admitted(statements: Statements, run: Run, startedAt?: string): Admitted {
  const pending: Run = { ...run, status: "pending" };
  statements.recordChanges(changeOfRun("created", pending));
  const claimed: Run | undefined =
    startedAt === undefined ? undefined : { ...pending, status: "running", attempt: 1, started_at: startedAt };
  if (claimed !== undefined) statements.recordChanges(changeOfRun("changed", claimed));
  const updated_at = startedAt ?? clusterDate();
  statements.recordChanges(changeOfStatus(run.session_id, { status: "busy", updated_at }));
  return { run: pending, claimed };
}

/** Milliseconds that an admission waits for a change of its session by hand, and between two looks. */
const [turnPatience, turnPause] = [10_000, 50];

/** A try, again and again while another server changes the session by hand. */
async function askInTurn(statements: Statements, attempt: Attempt): Promise<z.infer<typeof Outcome>> {
  for (let waited = 0; ; waited += turnPause) {
    const found = await ask(statements, attempt);
    if (found.outcome !== "turn" || waited >= turnPatience) return found;
    await sleep(turnPause);
  }
}

/**
 * `RunStore.admit`. One statement, and four more where questions wait or are answered: what that means is decided here.
 * `server`: in whose hand the run is then. `workspace`: the folder that it works in. `onFirst`: called before a run begins whose session has no states.
 */
export async function admitRun(
  database: PostgresDatabase,
  run: Run,
  admission: Admission,
  { onFirst, ...place }: Pick<Attempt, "server" | "workspace"> & { onFirst: (sessionId: string) => void },
): Promise<Admitted> {
  const now = clusterDate();
  return await database.once(async (again) => {
    const attempt: Attempt = { run, admission, isAnswered: false, now, again, ...place };
    const found = await askInTurn(database, attempt);
    if (found.outcome === "taken" && found.has_states === false) onFirst(run.session_id);
    if (found.outcome !== "answers") return await settle(database, attempt, found);
    return await database.transaction(async (statements) => {
      await statements.rows("SELECT FROM sessions WHERE session_id = $1 FOR NO KEY UPDATE", [run.session_id]);
      // Since then it may have been admitted, or kept out.
      const before = await ask(statements, attempt);
      if (before.outcome !== "answers") return await settle(statements, attempt, before);
      const answered = { ...attempt, run: await recordAnswers(statements, run, admission.answer), isAnswered: true };
      return await settle(statements, answered, await ask(statements, answered));
    });
  });
}
