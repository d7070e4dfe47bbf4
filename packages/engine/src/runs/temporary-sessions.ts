import { setTimeout as sleep } from "node:timers/promises";
import type { ActiveRun } from "./active-run.ts";
import type { LogSubscribers } from "./events/log.ts";
import type { RunnerDeps } from "./options.ts";

/** Milliseconds that the result of a temporary session's run is kept for a repeated request with the same key. */
export const resultRetention = 600_000;

/** Maximum milliseconds that a temporary session is kept for readers at other servers, and the interval of the checks. */
const [maxWaitMs, pollMs] = [60_000, 1_000];

/**
 * Resolves when nothing can ask for the result of a temporary session's run any more. `release` is called once the run need
 * not be kept in memory: with a key, a repeated request gets what is stored.
 */
export async function untilUnneeded(
  active: ActiveRun,
  release: () => void,
  remote: LogSubscribers | undefined,
  deps: RunnerDeps,
): Promise<void> {
  const { run_id } = active.run;
  // Where the storage cannot say, the result is kept for the longer time.
  const hasKey = active.hasKey ?? (await deps.storage.runs.hasKey(run_id).catch(() => true));
  if (!hasKey) await active.unread(60_000);
  release();
  if (hasKey) await sleep(resultRetention, undefined, { ref: false });
  else await unreadElsewhere(run_id, remote, deps);
}

/** Resolves when no other server has a reader of a finished run. Without notifications this server cannot know. */
async function unreadElsewhere(
  runId: string,
  remote: LogSubscribers | undefined,
  { storage }: RunnerDeps,
): Promise<void> {
  const { notifications } = storage;
  const isRead = (): boolean =>
    notifications.hasPeers && (!notifications.isListening || remote?.isFollowed(runId) === true);
  for (let waited = 0; waited < maxWaitMs && isRead(); waited += pollMs) await sleep(pollMs, undefined, { ref: false });
}

/** The runs that are in hand. */
interface InHand {
  ofSession(sessionId: string): ActiveRun[];
  endWaiting(active: ActiveRun): Promise<void>;
}

/** Removes a temporary session when its result can no longer be asked for. */
export function removeAfterRetention(sessionId: string, activeRuns: InHand, deps: RunnerDeps): void {
  removeAfter(sleep(resultRetention, undefined, { ref: false }), sessionId, activeRuns, deps);
}

/** Removes a temporary session when `wait` is over, unless the server stops before. */
export function removeAfter(wait: Promise<unknown>, sessionId: string, activeRuns: InHand, deps: RunnerDeps): void {
  const { storage, logger, stopping } = deps;
  const remove = async (): Promise<void> => {
    await wait;
    const left = (): ActiveRun[] => (stopping.aborted ? [] : unfinished(activeRuns.ofSession(sessionId)));
    // Its other runs are ended first, or their readers would wait for ever.
    for (let others = left(); others.length > 0; others = left()) {
      for (const { stop } of others) stop.request("session_switch");
      await Promise.all(others.map((other) => activeRuns.endWaiting(other)));
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
