import { z } from "zod";
import { AppError } from "../errors/errors.ts";
import { JsonObject, type Approval, type Run, type Session } from "./records.ts";
import type { ApprovalAnswer } from "./storage.ts";

/** How LangGraph spells the id of an interrupt. A resume whose keys are all such ids answers each by its own value. */
const interruptId = /^[0-9a-f]{32}$/u;

/** The ids and values of a resume by id; `undefined` for one value that answers whatever waits. */
function answersById(resume: unknown): Map<string, unknown> | undefined {
  const parsed = JsonObject.safeParse(resume);
  if (!parsed.success) return undefined;
  const answers = Object.entries(parsed.data);
  return answers.every(([id]) => interruptId.test(id)) ? new Map(answers) : undefined;
}

/** The ids that a run's `command.resume` names; empty when it names none. */
export function answeredIds(run: Run): string[] {
  return [...(answersById(run.kwargs.command?.["resume"])?.keys() ?? [])];
}

/** Whether a run answers whatever waits, without naming it. */
function answersAnything(run: Run): boolean {
  const resume = run.kwargs.command?.["resume"] ?? undefined;
  return resume !== undefined && answersById(resume) === undefined;
}

/**
 * The run with its answer bound to what waits now, by id: a run that waits in the queue must not answer a question that
 * is asked meanwhile. `known` holds the session's pending rows.
 */
export function bindAnswer(known: readonly Approval[], run: Run): Run {
  const pending = known.filter(({ state }) => state === "pending");
  const bindable = pending.length > 0 && pending.every(({ interrupt_id }) => interruptId.test(interrupt_id));
  if (!answersAnything(run) || !bindable) return run;
  const { command } = run.kwargs;
  const answers = shareOut(command?.["resume"], pending);
  const resume = Object.fromEntries(pending.map(({ interrupt_id }, index) => [interrupt_id, answers[index]]));
  return { ...run, kwargs: { ...run.kwargs, command: { ...command, resume } } };
}

const Decisions = z.object({ decisions: z.array(z.unknown()) });
const Confirmation = z.looseObject({ kind: z.literal("confirmation") });

/**
 * One answer for each question. As many decisions as questions answer them in the order they were asked. One answer
 * alone is never taken for a yes to several confirmations: who gave it has seen one question.
 */
function shareOut(resume: unknown, pending: readonly Approval[]): unknown[] {
  if (pending.length === 1) return [resume];
  const { decisions } = Decisions.safeParse(resume).data ?? {};
  if (decisions?.length === pending.length) return decisions.map((decision) => ({ decisions: [decision] }));
  if (!pending.some(({ value }) => Confirmation.safeParse(value).success)) return pending.map(() => resume);
  const ids = pending.map(({ interrupt_id }) => interrupt_id).join(", ");
  throw new AppError(
    "conflict",
    `${pending.length} questions wait in the session, and the answer names none: ${ids}.`,
    {
      suggestion: 'Answer by id, {"resume": {"<id>": …}}, or send as many decisions as questions wait.',
    },
  );
}

/**
 * What an admitted run changes: the rows it answers become `answered`; a run that begins anew with an input passes over
 * what waits. `known` holds the session's pending rows and those the run names, `busy` says whether another run of the
 * session is not over. Throws `conflict` when a named one is not pending, or nothing is while another run may be
 * asking: a second answer is never taken for an answer to something else.
 */
export function admitAnswers(
  known: readonly Approval[],
  run: Run,
  { now, busy, answer }: { now: string; busy: boolean; answer?: ApprovalAnswer | undefined },
): Approval[] {
  const pending = known.filter(({ state }) => state === "pending");
  const resume = run.kwargs.command?.["resume"] ?? undefined;
  if (resume === undefined) {
    const begins = run.kwargs.command === undefined && (run.kwargs.input ?? undefined) !== undefined;
    return begins ? pending.map((row) => ({ ...row, state: "stale", run_id: run.run_id })) : [];
  }
  if (busy && pending.length === 0 && answersAnything(run)) {
    throw new AppError("conflict", "Nothing waits for an answer in the session.", {
      suggestion: "Wait for its run, then list what waits.",
    });
  }
  const named = answersById(resume);
  const late = known.find(({ interrupt_id, state }) => named?.has(interrupt_id) === true && state !== "pending");
  if (late !== undefined) throw notPending(late);
  const answered = named === undefined ? pending : pending.filter(({ interrupt_id }) => named.has(interrupt_id));
  if (answer !== undefined && !answered.some(({ interrupt_id }) => interrupt_id === answer.interrupt_id)) {
    throw new AppError("not_found", `No question ${answer.interrupt_id} waits in the session.`);
  }
  return answered.map((row) => ({
    ...row,
    state: "answered",
    decision: named === undefined ? resume : named.get(row.interrupt_id),
    decided_by: answer?.decided_by ?? "person",
    run_id: run.run_id,
    decided_at: now,
  }));
}

/** The error (`conflict`) for an answer to a question that does not wait for one. */
export function notPending({ interrupt_id, state }: Pick<Approval, "interrupt_id" | "state">): AppError {
  return state === "answered"
    ? new AppError("conflict", `The question ${interrupt_id} has been answered already.`)
    : new AppError("conflict", `The session has moved on; the question ${interrupt_id} takes no answer any more.`, {
        suggestion: "List what waits now.",
      });
}

/**
 * What a session's new `interrupts` change. `known` holds the session's pending rows and those of these interrupts;
 * `isUnfinished` says of a run whether its answer may still be used.
 */
export function followInterrupts(
  known: readonly Approval[],
  session: Pick<Session, "session_id" | "interrupts">,
  now: string,
  isUnfinished: (runId: string) => boolean,
): Approval[] {
  const rows = new Map(known.map((row) => [row.interrupt_id, row]));
  const changed: Approval[] = [];
  for (const [task_id, interrupts] of Object.entries(session.interrupts)) {
    for (const { id: interrupt_id, value } of interrupts) {
      const row = rows.get(interrupt_id);
      rows.delete(interrupt_id);
      if (row?.state === "pending") continue;
      if (row?.run_id !== null && row?.run_id !== undefined && isUnfinished(row.run_id)) continue;
      changed.push({
        session_id: session.session_id,
        interrupt_id,
        task_id,
        value: value ?? null,
        state: "pending",
        decision: null,
        decided_by: null,
        run_id: null,
        asked_at: now,
        decided_at: null,
      });
    }
  }
  for (const row of rows.values()) if (row.state === "pending") changed.push({ ...row, state: "stale" });
  return changed;
}
