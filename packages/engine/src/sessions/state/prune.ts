import type { SessionRuns, SessionStorage } from "../scope/session-storage.ts";
import { deleteSession, isDone } from "../sessions.ts";

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

/** The checkpointer as one that removes old states; `undefined` for one that cannot. */
export function pruningSaver(saver: object): PruningSaver | undefined {
  return canPrune(saver) ? saver : undefined;
}

/**
 * Deletes sessions, or all their states but the newest ones, and gives the space back. Gives how many were pruned: ids
 * that do not exist count for nothing, and so do sessions at work where their states stay (`keep_latest`), and those
 * that the caller may see and not change.
 */
export async function pruneSessions(
  parts: { storage: SessionStorage; runs: Pick<SessionRuns, "between" | "cancelSession"> },
  request: { ids: readonly string[]; strategy: "delete" | "keep_latest" },
): Promise<number> {
  const saver = pruningSaver(parts.storage.checkpointer);
  let pruned = 0;
  for (const id of new Set(request.ids)) {
    if ((await parts.storage.sessions.get(id)) === undefined) continue;
    const work = request.strategy === "delete" ? deleteSession(parts, id) : keepLatest(parts, id, saver);
    if (await isDone(work)) pruned += 1;
  }
  if (pruned > 0) await saver?.vacuum();
  return pruned;
}

/** Deletes all states but the newest one of a session that no run works on; false for any other. */
async function keepLatest(
  { storage, runs }: Parameters<typeof pruneSessions>[0],
  sessionId: string,
  saver: PruningSaver | undefined,
): Promise<boolean> {
  return await runs.between(sessionId, async () => {
    const session = await storage.sessions.get(sessionId);
    if (saver === undefined || session === undefined || session.status === "busy") return false;
    await saver.prune(sessionId, { keepLatest: 1 });
    return true;
  });
}
