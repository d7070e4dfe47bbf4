import { withTimeout } from "../concurrency/abort.ts";
import { AppError } from "../errors/errors.ts";
import type { StopReason } from "../run-events.ts";
import type { Logger } from "../logger.ts";
import type { Run, StopAction } from "../storage/records.ts";
import type { Storage } from "../storage/storage.ts";
import type { ActiveRun } from "./active-run.ts";
import type { Dispatch } from "./dispatch.ts";
import type { RunSources } from "./follow/follow.ts";
import {
  stopRemoteRunsOfAssistant,
  parentSessionKey,
  stopRemoteQueuedRuns,
  stopRemoteBackgroundRuns,
} from "./remote-stops.ts";
import { comesBefore, isOver } from "./status.ts";

/** What cancelling needs. */
interface Cancelling {
  dispatch: Dispatch;
  storage: Storage;
  logger: Logger;
}

/** How a run is stopped, and why. */
interface StopRequest {
  action: StopAction;
  reason: StopReason;
  /** The reason as the client gave it. */
  said?: string | undefined;
  /** Only while it waits. */
  onlyPending?: boolean | undefined;
}

/** Milliseconds after which the effects of a stop are published although its request is not stored yet. */
const storePatience = 1_000;

/** Aborts a running run; `Dispatch.endWaiting` ends a queued one. */
function stopNow(active: ActiveRun, { action, reason }: StopRequest): void {
  if (action === "rollback") active.rollback = true;
  active.stop.request(reason);
}

/**
 * Stops a run and stores the stop request. The run is aborted at once, but its effects are neither published nor stored
 * before the request is on disk, so that no restart resumes a run that was seen to stop. Resolves when the request is stored;
 * for a queued run when its end is. For a run of another server only the request is stored, and its owner reads it. Throws
 * what the store throws; the run stops anyway. With `onlyPending` see `takeOut`.
 */
export async function cancelRun(run: Run, order: StopRequest, { dispatch, storage }: Cancelling): Promise<void> {
  if (order.onlyPending === true) return await takeOut(run, order, { dispatch, storage });
  const active = dispatch.active.get(run.run_id);
  if (active === undefined && isOver(run.status)) return;
  const stored = storage.runs.requestStop(run.run_id, order.action, order.said);
  if (active !== undefined) {
    const tried = stored.catch(() => undefined);
    active.log.hold(withTimeout(tried, storePatience, () => undefined));
    stopNow(active, order);
  }
  await Promise.all([active && dispatch.endWaiting(active), stored]);
}

/**
 * Takes a run out of the queue: no server begins it from then on. Resolves when its end is written; for a run of another
 * server when its owner can read the request. Throws `conflict` for a run that does not wait, or that another request is
 * cancelling.
 */
async function takeOut(
  run: Run,
  order: StopRequest,
  { dispatch, storage }: Pick<Cancelling, "dispatch" | "storage">,
): Promise<void> {
  if (!(await storage.runs.requestStop(run.run_id, order.action, order.said, "pending"))) {
    throw new AppError("conflict", "The run does not wait: it has begun, is over, or is being cancelled.", {
      message_zh: "该运行已不在等待：它已经开始、已经结束，或正在被取消。",
    });
  }
  const active = dispatch.active.get(run.run_id);
  if (active === undefined) return;
  stopNow(active, order);
  await dispatch.endWaiting(active);
  // A heartbeat may have come first with the request.
  await active.over;
}

/** The runs of the same session in the queue behind `run`. */
function waitingBehind(active: ReadonlyMap<string, ActiveRun>, run: Run): ActiveRun[] {
  return [...active.values()].filter(
    (other) => other.run.session_id === run.session_id && !other.isExecuting && comesBefore(run, other.run),
  );
}

/**
 * Stops the runs in the queue behind `run`, so that none of them starts when it ends. Resolves when the requests to other
 * servers are on disk; `ended` resolves when all of these runs have ended.
 */
export async function cancelQueued(
  run: Run,
  sources: RunSources,
  cancelling: Cancelling,
): Promise<{ ended: Promise<unknown> }> {
  const waitElsewhere = await stopRemoteQueuedRuns(run, sources);
  const behind = waitingBehind(cancelling.dispatch.active, run);
  const order: StopRequest = { action: "interrupt", reason: "user_requested" };
  return { ended: Promise.all([waitElsewhere(), ...behind.map((other) => cancelRun(other.run, order, cancelling))]) };
}

/** Stops the runs that were admitted before `active`, never later ones. The admission has stored the stop requests. */
export async function cancelEarlier(active: ActiveRun, action: StopAction, dispatch: Dispatch): Promise<void> {
  const { run, admission } = active;
  const earlier = dispatch.ofSession(run.session_id).filter((other) => other.admission < admission);
  for (const other of earlier) stopNow(other, { action, reason: "user_requested" });
  await Promise.all(earlier.map((other) => dispatch.endWaiting(other)));
}

/**
 * Stops the background runs of a session together with the run that started them. Resolves when that is on disk. A
 * background run that is just being started stops by the signal of its caller.
 */
export async function cancelBackground(sessionId: string, cancelling: Cancelling): Promise<void> {
  const { dispatch, storage } = cancelling;
  const sent = [...dispatch.active.values()].filter(({ run }) => run.metadata[parentSessionKey] === sessionId);
  const order: StopRequest = { action: "interrupt", reason: "user_requested" };
  await Promise.all([
    ...sent.map((active) => cancelRun(active.run, order, cancelling)),
    stopRemoteBackgroundRuns(sessionId, { storage, active: dispatch.active }),
  ]);
}

/** Stops every run of a session, queued ones too, and resolves when their ends are written. */
export async function cancelSession(sessionId: string, reason: StopReason, cancelling: Cancelling): Promise<void> {
  const { dispatch, logger } = cancelling;
  const runs = dispatch.ofSession(sessionId);
  for (const active of runs) {
    cancelRun(active.run, { action: "interrupt", reason }, cancelling).catch((error: unknown) => {
      logger.error({ err: error, run_id: active.run.run_id }, "stop_not_noted");
    });
  }
  await Promise.all(runs.map((active) => active.over));
}

/** Stops every run of an assistant, and removes the rows of all its runs when their ends are written. */
export async function removeRunsOf(assistantId: string, sources: RunSources, cancelling: Cancelling): Promise<void> {
  const { dispatch, storage } = cancelling;
  const runs = [...dispatch.active.values()].filter(({ run }) => run.assistant_id === assistantId);
  const order: StopRequest = { action: "interrupt", reason: "user_requested" };
  await Promise.all(runs.map((active) => cancelRun(active.run, order, cancelling)));
  await Promise.all([stopRemoteRunsOfAssistant(assistantId, sources), ...runs.map((active) => active.over)]);
  await storage.runs.deleteOfAssistant(assistantId);
}
