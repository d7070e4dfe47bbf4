import { withTimeout } from "../concurrency/abort.ts";
import type { StopReason } from "../run-events.ts";
import type { Logger } from "../logger.ts";
import type { Run, StopAction } from "../storage/records.ts";
import type { Storage } from "../storage/storage.ts";
import type { ActiveRun } from "./active-run.ts";
import type { Dispatch } from "./dispatch.ts";
import type { RunSources } from "./follow/follow.ts";
import { endOfAssistantElsewhere, sentBy, stopBehindElsewhere, stopSentElsewhere } from "./stop-elsewhere.ts";
import { comesBefore, isOver } from "./status.ts";

/** What cancelling needs. */
interface Cancelling {
  dispatch: Dispatch;
  storage: Storage;
  logger: Logger;
}

/** How a run is stopped, and why. */
interface StopOrder {
  action: StopAction;
  reason: StopReason;
  /** The reason as the client gave it. */
  said?: string | undefined;
}

/** Milliseconds after which what a stop causes is shown although the store has not taken its note. */
const notePatience = 1_000;

/** A running one is aborted at once; a waiting one is ended by `Dispatch.endWaiting`. */
function stopNow(active: ActiveRun, { action, reason }: StopOrder): void {
  if (action === "rollback") active.rollback = true;
  active.stop.request(reason);
}

/**
 * Stops a run and writes down that it was asked for. It is aborted at once; what comes of that is neither seen nor
 * stored before the note is on disk, so that no restart goes on with a run that was seen to stop. Resolves when it
 * is, for a run that waits when its end is. For a run that this server does not have, only the note is written: the
 * server that takes it up reads it. Throws what the store throws; the run stops all the same.
 */
export async function cancelRun(run: Run, order: StopOrder, { dispatch, storage }: Cancelling): Promise<void> {
  const active = dispatch.active.get(run.run_id);
  if (active === undefined && isOver(run.status)) return;
  const noted = storage.runs.requestStop(run.run_id, order.action, order.said);
  if (active !== undefined) {
    const tried = noted.catch(() => undefined);
    active.log.hold(withTimeout(tried, notePatience, () => undefined));
    stopNow(active, order);
  }
  await Promise.all([active && dispatch.endWaiting(active), noted]);
}

/** The runs of the same session that wait behind `run`. */
function waitingBehind(active: ReadonlyMap<string, ActiveRun>, run: Run): ActiveRun[] {
  return [...active.values()].filter(
    (other) => other.run.session_id === run.session_id && !other.walking && comesBefore(run, other.run),
  );
}

/**
 * Stops the runs of a session that wait behind `run`: none of them begins when it ends, also at another server, of which
 * that is on disk when this resolves. It has `ended` when they have.
 */
export async function cancelBehind(
  run: Run,
  sources: RunSources,
  cancelling: Cancelling,
): Promise<{ ended: Promise<unknown> }> {
  const waitElsewhere = await stopBehindElsewhere(run, sources);
  const behind = waitingBehind(cancelling.dispatch.active, run);
  const order: StopOrder = { action: "interrupt", reason: "user_requested" };
  return { ended: Promise.all([waitElsewhere(), ...behind.map((other) => cancelRun(other.run, order, cancelling))]) };
}

/** Stops what the session was asked before `active`; never what was asked since. Its admission has written that down. */
export async function cancelEarlier(active: ActiveRun, action: StopAction, dispatch: Dispatch): Promise<void> {
  const { run, admission } = active;
  const earlier = dispatch.ofSession(run.session_id).filter((other) => other.admission < admission);
  for (const other of earlier) stopNow(other, { action, reason: "user_requested" });
  await Promise.all(earlier.map((other) => dispatch.endWaiting(other)));
}

/**
 * Stops the agents that a session has sent to the background, together with the run that sent them; a run that has
 * not begun has sent none. Resolves when that is on disk. One that is being sent at this moment stops by the signal
 * of its caller.
 */
export async function cancelSent(sessionId: string, cancelling: Cancelling): Promise<void> {
  const { dispatch, storage } = cancelling;
  const sent = [...dispatch.active.values()].filter(({ run }) => run.metadata[sentBy] === sessionId);
  const order: StopOrder = { action: "interrupt", reason: "user_requested" };
  await Promise.all([
    ...sent.map((active) => cancelRun(active.run, order, cancelling)),
    stopSentElsewhere(sessionId, { storage, active: dispatch.active }),
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
  const order: StopOrder = { action: "interrupt", reason: "user_requested" };
  await Promise.all(runs.map((active) => cancelRun(active.run, order, cancelling)));
  await Promise.all([endOfAssistantElsewhere(assistantId, sources), ...runs.map((active) => active.over)]);
  await storage.runs.deleteOfAssistant(assistantId);
}
