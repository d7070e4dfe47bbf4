import type { SessionStorage } from "./door.ts";
import { deleteSession } from "./sessions.ts";

/** What a checkpointer may be able to do beside LangGraph's contract, as ours is. */
interface PruningSaver {
  prune(sessionId: string, options: { keepLatest: number }): Promise<void>;
  vacuum(): Promise<void>;
}

function canPrune(saver: object): saver is PruningSaver {
  return (
    "prune" in saver && typeof saver.prune === "function" && "vacuum" in saver && typeof saver.vacuum === "function"
  );
}

/**
 * Deletes sessions, or all their states but the newest ones, and gives the space back. Gives how many were pruned: ids
 * that do not exist count for nothing, and so do sessions at work where their states stay (`keep_latest`).
 */
export async function pruneSessions(
  storage: SessionStorage,
  request: {
    ids: readonly string[];
    strategy: "delete" | "keep_latest";
    stopRuns: (sessionId: string) => Promise<void>;
  },
): Promise<number> {
  const { checkpointer } = storage;
  const saver = canPrune(checkpointer) ? checkpointer : undefined;
  let pruned = 0;
  for (const id of new Set(request.ids)) {
    const session = await storage.sessions.get(id);
    if (session === undefined) continue;
    if (request.strategy === "delete") await deleteSession(storage, id, request.stopRuns);
    else if (session.status === "busy" || saver === undefined) continue;
    else await saver.prune(id, { keepLatest: 1 });
    pruned += 1;
  }
  if (pruned > 0) await saver?.vacuum();
  return pruned;
}
