import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import type { Run, RunError } from "@millrace/engine/storage/records";

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
