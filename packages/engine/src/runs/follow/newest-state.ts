import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";

/** The newest state of a session: its values, and when it was written (ISO-8601). */
export interface NewestState {
  values: Record<string, unknown>;
  written_at: string;
}

/**
 * The session's newest checkpoint, or `undefined` before its first. LangGraph's own channels (`__…`, `branch:…`) are
 * left out.
 */
export async function readNewest(
  { checkpointer }: { checkpointer: Pick<BaseCheckpointSaver, "getTuple"> },
  sessionId: string,
): Promise<NewestState | undefined> {
  const tuple = await checkpointer.getTuple({ configurable: { thread_id: sessionId, checkpoint_ns: "" } });
  if (tuple === undefined) return undefined;
  const values = Object.entries(tuple.checkpoint.channel_values);
  const own = values.filter(([name]) => !name.startsWith("__") && !name.startsWith("branch:"));
  return { values: Object.fromEntries(own), written_at: tuple.checkpoint.ts };
}
