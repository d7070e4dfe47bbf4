import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import type { Run } from "../storage/records.ts";

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
