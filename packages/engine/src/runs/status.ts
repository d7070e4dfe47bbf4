import type { Interrupt } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import type { ServedGraph } from "../graphs/served-graph.ts";
import { finishedTasks } from "./attempt/finished-tasks.ts";
import type { Run, RunError, RunStatus, Session } from "../storage/records.ts";
import type { RunOutcome } from "../storage/storage.ts";

/** Why a walk through a graph is over. */
export type Ending =
  | { kind: "done" }
  | { kind: "failed"; error: RunError }
  /** Somebody stopped it, before or while it ran; `error`: its time was up. */
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
export function crashLoop({ crashes }: Run, budget: number): RunError | undefined {
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
