import type { StateSnapshot } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";

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
