import type { StateSnapshot } from "@langchain/langgraph";
import { z } from "zod";
import type { JsonObject, Run, RunError, Session } from "../../storage/records.ts";
import type { ServedGraph } from "../../graphs/served-graph.ts";

/** An answer for each question, by the id that LangGraph gives it. */
export const Addressed = z.record(z.string().regex(/^[0-9a-f]{32}$/u), z.unknown());

/**
 * The answers of a run that a crash cut off, as far as no question has taken them yet; `null`: none are left. LangGraph
 * keeps an answer only when the step that asked has ended, so it has to be given again; one that was taken must not be,
 * for a later question of the same step would take it for its own.
 */
export function answersLeft(resume: unknown, state: Pick<StateSnapshot, "tasks">): JsonObject | null {
  const { data = {} } = Addressed.safeParse(resume);
  const open = openQuestions(state);
  const left = Object.entries(data).filter(([id]) => open.has(id));
  return left.length === 0 ? null : Object.fromEntries(left);
}

/** The ids of the questions of the innermost steps: an outer one still shows what was asked before, until the inner one has ended. */
export function openQuestions({ tasks }: Pick<StateSnapshot, "tasks">): Set<string> {
  const ids = tasks.flatMap(({ state, interrupts }) =>
    state !== undefined && "tasks" in state && state.tasks.length > 0
      ? [...openQuestions(state)]
      : interrupts.flatMap(({ id }) => id ?? []),
  );
  return new Set(ids);
}

/** A plain answer with the id of the only question that is open, so that it can be given to no other. */
export function addressed(command: JsonObject, { status, interrupts }: Session): JsonObject {
  const [only, ...others] = Object.values(interrupts).flat();
  const { resume } = command;
  if (status !== "interrupted" || resume === undefined || resume === null || Addressed.safeParse(resume).success) {
    return command;
  }
  if (only?.id === undefined || others.length > 0) return command;
  const known = Addressed.safeParse({ [only.id]: resume });
  return known.success ? { ...command, resume: known.data } : command;
}

/**
 * Why a run with `strict_resume` may not begin: it answers a question that is not open (SDK 1.15). `undefined` for any
 * other run, and for one whose answers all have a question. Throws what the checkpointer throws.
 */
export async function refusedAnswer({ kwargs, session_id }: Run, graph: ServedGraph): Promise<RunError | undefined> {
  const resume = kwargs.command?.["resume"];
  if (kwargs.strict_resume !== true || resume === undefined || resume === null) return undefined;
  const open = openQuestions(await graph.getState({ configurable: { thread_id: session_id } }, { subgraphs: true }));
  const named = Object.keys(Addressed.safeParse(resume).data ?? {});
  const unknown = named.filter((id) => !open.has(id));
  if (unknown.length === 0 && (named.length > 0 || open.size > 0)) return undefined;
  const what = unknown.length === 0 ? "No interrupt is waiting" : `No interrupt ${unknown.join(", ")} is waiting`;
  const waiting = open.size === 0 ? "" : ` Those that wait: ${[...open].join(", ")}.`;
  return { error: "UnknownInterruptError", message: `${what} for an answer.${waiting}` };
}
