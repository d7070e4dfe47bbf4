import { setTimeout as sleep } from "node:timers/promises";
import type { ActiveRun } from "./active-run.ts";
import type { RunnerDeps } from "./options.ts";

/** Milliseconds that the result of a temporary session's run is kept for a repeated request with the same key. */
export const resultRetention = 600_000;

/** The runs that are in hand. */
interface InHand {
  ofSession(sessionId: string): ActiveRun[];
  endWaiting(active: ActiveRun): Promise<void>;
}

/** Removes a temporary session when its result can no longer be asked for. */
export function removeAfterRetention(sessionId: string, inHand: InHand, deps: RunnerDeps): void {
  removeAfter(sleep(resultRetention, undefined, { ref: false }), sessionId, inHand, deps);
}

/** Removes a temporary session when `wait` is over, unless the server stops before. */
export function removeAfter(wait: Promise<unknown>, sessionId: string, inHand: InHand, deps: RunnerDeps): void {
  const { storage, logger, stopping } = deps;
  const remove = async (): Promise<void> => {
    await wait;
    const left = (): ActiveRun[] => (stopping.aborted ? [] : unfinished(inHand.ofSession(sessionId)));
    // Its other runs are ended first, or their readers would wait for ever.
    for (let others = left(); others.length > 0; others = left()) {
      for (const { stop } of others) stop.request("session_switch");
      await Promise.all(others.map((other) => inHand.endWaiting(other)));
      await Promise.allSettled(others.map(({ over }) => over));
    }
    if (!stopping.aborted) await storage.sessions.delete(sessionId);
  };
  remove().catch((error: unknown) => {
    logger.error({ err: error, session_id: sessionId }, "temporary_session_not_removed");
  });
}

/** Those that were admitted and have no end yet. */
function unfinished(runs: readonly ActiveRun[]): ActiveRun[] {
  return runs.filter(({ admission, ended }) => Number.isFinite(admission) && !ended);
}
