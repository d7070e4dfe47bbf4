import type { Interrupt, StateSnapshot } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import type { ServedGraph } from "../graphs/served-graph.ts";
import type { JsonObject, Run, RunError, RunStatus, Session } from "../storage/records.ts";
import type { RunOutcome } from "../storage/attempt-store.ts";
import { z } from "zod";
import { adviceOf, errorMessage, explain, isAppError } from "../errors/errors.ts";

/** Why the execution of a graph is over. */
export type Ending =
  | { kind: "done" }
  | { kind: "failed"; error: RunError }
  /** It was stopped, before or while it ran; with `error` by its timeout. */
  | { kind: "stopped"; error?: RunError };

/** What the last checkpoint waits for: questions by task id, or only a breakpoint (`next` is not empty). */
export interface Pause {
  interrupts: Session["interrupts"];
  waiting: boolean;
}

/** The pause of a graph in which nothing waits. */
export const noPause: Pause = { interrupts: {}, waiting: false };

/** Whether a run with this status never changes again. */
export function isOver(status: RunStatus): status is RunOutcome["status"] {
  return status !== "pending" && status !== "running";
}

/**
 * How an ending is written down for the run and its session: a run that pauses for an answer is a `success`, its
 * session is `interrupted`. Storage keeps the session `busy` while another run is queued.
 */
export function outcomeOf(ending: Ending, pause: Pause): RunOutcome {
  const resting = pause.waiting || Object.keys(pause.interrupts).length > 0 ? "interrupted" : "idle";
  switch (ending.kind) {
    case "done":
      return { status: "success", session_status: resting, interrupts: pause.interrupts };
    case "failed":
      return { status: "error", error: ending.error, session_status: "error", interrupts: pause.interrupts };
    case "stopped": {
      const { interrupts } = pause;
      return ending.error === undefined
        ? { status: "interrupted", session_status: resting, interrupts }
        : { status: "timeout", error: ending.error, session_status: resting, interrupts };
    }
  }
}

/** The id of a question; LangGraph 0.3 calls it otherwise, 0.2 has none. */
function idOf(asked: Interrupt): string | undefined {
  const former: unknown = "interrupt_id" in asked ? asked.interrupt_id : undefined;
  return asked.id ?? (typeof former === "string" ? former : undefined);
}

/** What the newest checkpoint of a session waits for. Throws what the checkpointer throws. */
export async function readPause(graph: ServedGraph, sessionId: string): Promise<Pause> {
  const state = await graph.getState({ configurable: { thread_id: sessionId } });
  const finished = await finishedTasks(graph.checkpointer, state);
  const interrupts: Session["interrupts"] = {};
  for (const task of state.tasks) {
    if (task.interrupts.length === 0 || finished.has(task.id)) continue;
    interrupts[task.id] = task.interrupts.map((asked) => ({ id: idOf(asked) ?? task.id, value: asked.value }));
  }
  return { interrupts, waiting: state.next.length > 0 };
}

/** The error of a run that has ended with the process `budget` times; `undefined` while it may go on. */
export function crashLoopError({ crashes }: Run, budget: number): RunError | undefined {
  if (crashes < budget) return undefined;
  const message = `The server ended ${crashes} times in the middle of this run, so it is not tried again. Nothing else is affected; look at its last step before sending it anew.`;
  return { error: "crash_loop", message };
}

/**
 * Whether the next attempt of a run that was found running could be its last. Such runs are taken up one after the
 * other: the one that takes the process with it then uses up its own budget and not that of the others.
 */
export function isSuspect({ status, crashes }: Run, budget: number): boolean {
  return status === "running" && crashes > 0 && crashes + 2 >= budget;
}

interface RunAwareSaver {
  hasRun(threadId: string, runId: string): boolean | Promise<boolean>;
}

function knowsRuns(saver: object): saver is RunAwareSaver {
  return "hasRun" in saver && typeof saver.hasRun === "function";
}

interface RunRemovingSaver {
  deleteRun(threadId: string, runId: string): void | Promise<void>;
}

function removesRuns(saver: object): saver is RunRemovingSaver {
  return "deleteRun" in saver && typeof saver.deleteRun === "function";
}

/**
 * Whether a run has left something to go on from. If it has, the next attempt resumes (law 4); if not, it begins with the
 * input that was stored at admission. The graph's `next` says nothing about this: it can be empty in the middle of a run.
 */
export async function hasProgress(saver: BaseCheckpointSaver, run: Run): Promise<boolean> {
  if (knowsRuns(saver)) return saver.hasRun(run.session_id, run.run_id);
  const newest = await saver.getTuple({ configurable: { thread_id: run.session_id } });
  const metadata = newest?.metadata;
  // LangGraph merges the run's keys into a checkpoint's metadata, whose type does not name them.
  return metadata !== undefined && "run_id" in metadata && metadata.run_id === run.run_id;
}

/** Removes the checkpoints a run has written, where the saver can tell them apart. */
export async function removeProgress(saver: BaseCheckpointSaver, run: Run): Promise<void> {
  if (removesRuns(saver)) await saver.deleteRun(run.session_id, run.run_id);
}

/** Writes by which LangGraph notes how a task stands; any other is what the task came to. */
const notes = new Set(["__interrupt__", "__resume__", "__error__", "__error_source_node__", "__scheduled__"]);

/**
 * The tasks of a checkpoint that have ended while a sibling waits. A snapshot still shows what they once asked, because
 * LangGraph keeps that write beside their output.
 */
export async function finishedTasks(
  saver: BaseCheckpointSaver | boolean | undefined,
  state: Pick<StateSnapshot, "config" | "tasks">,
): Promise<Set<string>> {
  if (typeof saver !== "object" || state.tasks.length < 2) return new Set();
  const tuple = await saver.getTuple(state.config);
  const outputs = (tuple?.pendingWrites ?? []).filter(([, channel]) => !notes.has(channel));
  return new Set(outputs.map(([taskId]) => taskId));
}

/** What a graph's schemas throw at an input or a context they do not accept, of any copy of zod. */
const Refusal = z.object({
  name: z.enum(["ZodError", "$ZodError"]),
  issues: z.array(z.object({ path: z.array(z.union([z.string(), z.number()])), message: z.string() })),
});

/** What a stream's `error` event shows of what a node threw: its name (of an expected failure its code) and its text. */
export function toRunError(error: unknown): RunError {
  if (isAppError(error)) {
    const advice = adviceOf(error);
    return { error: error.code, message: explain(error), ...(advice === undefined ? {} : { advice }) };
  }
  const refused = Refusal.safeParse(error);
  if (refused.success) {
    const problems = refused.data.issues.map(({ path, message }) => `${path.join(".") || "input"}: ${message}`);
    return { error: "invalid_parameter", message: `The graph does not accept this: ${problems.join("; ")}.` };
  }
  return { error: error instanceof Error ? error.name : "Error", message: errorMessage(error) };
}

/** An answer for each question, by the id that LangGraph gives it. */
const Addressed = z.record(z.string().regex(/^[0-9a-f]{32}$/u), z.unknown());

/**
 * The answers of a run that a crash cut off, as far as no question has taken them yet; `null`: none are left. LangGraph
 * keeps an answer only when the step that asked has ended, so it has to be given again; one that was taken must not be,
 * for a later question of the same step would take it for its own.
 */
export function unusedAnswers(resume: unknown, state: Pick<StateSnapshot, "tasks">): JsonObject | null {
  const { data = {} } = Addressed.safeParse(resume);
  const open = openQuestions(state);
  const left = Object.entries(data).filter(([id]) => open.has(id));
  return left.length === 0 ? null : Object.fromEntries(left);
}

/** The ids of the questions of the innermost steps: an outer one still shows what was asked before, until the inner one has ended. */
function openQuestions({ tasks }: Pick<StateSnapshot, "tasks">): Set<string> {
  const ids = tasks.flatMap(({ state, interrupts }) =>
    state !== undefined && "tasks" in state && state.tasks.length > 0
      ? [...openQuestions(state)]
      : interrupts.flatMap(({ id }) => id ?? []),
  );
  return new Set(ids);
}

/** A plain answer with the id of the only question that is open, so that it can be given to no other. */
export function withInterruptId(command: JsonObject, { status, interrupts }: Session): JsonObject {
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
export async function strictResumeError(
  { kwargs, session_id }: Run,
  graph: ServedGraph,
): Promise<RunError | undefined> {
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

/** Whether a session works on `first` before `second`: in the order they came; ids are made in that order too. */
export function comesBefore(first: Run, second: Run): boolean {
  if (first.created_at !== second.created_at) return first.created_at < second.created_at;
  return first.run_id < second.run_id;
}
