import { setTimeout as sleep } from "node:timers/promises";
import type { Run, RunMark } from "../../storage/records.ts";
import type { Storage } from "../../storage/storage.ts";
import type { ActiveRun, StopState } from "../active-run.ts";
import { comesBefore, isOver } from "../status.ts";

const isOpen = ({ status }: RunMark): boolean => !isOver(status);

/** How many runs of its session come before a waiting one, including those of other servers. */
export async function queuePosition(
  { runs }: Pick<Storage, "runs">,
  { run_id, session_id }: Run,
): Promise<number | undefined> {
  const marks = (await runs.marks(session_id)) ?? [];
  const at = marks.findIndex((mark) => mark.run_id === run_id);
  if (marks[at]?.status !== "pending") return undefined;
  // A running one may have come later: those before it were not due.
  return marks.filter((mark, place) => isOpen(mark) && (place > at || mark.status === "running")).length;
}

/** How many runs of its session come before a waiting one, of those on this server. */
export function localQueuePosition(own: ActiveRun, ofSession: readonly ActiveRun[]): number {
  const others = ofSession.filter((other) => other !== own && !other.ended);
  return others.filter((other) => other.isExecuting || comesBefore(other.run, own.run)).length;
}

/** The stop state of a session's current run on any server: the running one, else the first in the queue. */
export async function sessionStopState(
  { notifications, runs }: Pick<Storage, "notifications" | "runs">,
  sessionId: string,
  own: readonly ActiveRun[],
): Promise<StopState | undefined> {
  const executing = own.find((active) => active.isExecuting);
  if (executing !== undefined || !notifications.hasPeers) return (executing ?? own[0])?.stop.state;
  const open = ((await runs.marks(sessionId)) ?? []).filter(isOpen);
  const current = open.find(({ status }) => status === "running") ?? open.at(-1);
  if (current === undefined) return undefined;
  if (current.stop_requested !== null) return "stop_requested";
  return current.status === "running" ? "running" : "idle";
}

/** Milliseconds between two polls for a removed run, and the longest wait: its server may have ended. */
const [removalLook, removalPatience] = [25, 5_000];

/** Resolves with the ended run; for a rollback only once its row is removed, right after its end. */
export async function waitForRemoval({ runs }: Pick<Storage, "runs">, run: Run, signal: AbortSignal): Promise<Run> {
  const until = performance.now() + (run.stop_requested === "rollback" ? removalPatience : 0);
  while (performance.now() < until && (await runs.get(run.run_id)) !== undefined) {
    await sleep(removalLook, undefined, { signal });
  }
  return run;
}
