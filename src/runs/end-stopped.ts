import type { StopReason } from "@millrace/engine/run-events";
import type { ActiveRun } from "./active-run.ts";
import { keepTurn, type KeptTurn, type TurnToKeep } from "./keep-turn.ts";
import { endActivity, tellCustom } from "./tell-activity.ts";

/** Milliseconds after which a stop no longer waits for what it stops. */
export const stopPatience = 5000;

/**
 * What `work` comes to; `undefined` when the signal was aborted and `patience` milliseconds later it has still not
 * ended. The work itself cannot be ended from here: who calls must not listen to it any more.
 */
export async function endsInTime<Result>(
  work: Promise<Result>,
  signal: AbortSignal,
  patience: number,
): Promise<Result | undefined> {
  const late = Promise.withResolvers<undefined>();
  let timer: NodeJS.Timeout | undefined;
  const onAbort = (): void => {
    timer = setTimeout(() => late.resolve(undefined), patience);
  };
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}

/** Ends what a run that a client has stopped still writes, and keeps its turn unless it is rolled back. Throws what the store throws. */
export async function endStopped(active: ActiveRun, turn: TurnToKeep & { reason: StopReason }): Promise<KeptTurn> {
  await active.fence?.close();
  // What is kept goes into a checkpoint: never before what was told.
  await active.log.flush();
  const nothing: KeptTurn = { partial: null, reply_id: null, executed: [], pending: [], values: undefined };
  // Only a run that has begun owns the session; one that waits for its turn leaves it be.
  const kept = active.rollback || !active.hasBegun ? nothing : await keepTurn(turn);
  await active.log.room();
  return kept;
}

/** Tells what of a stopped turn is kept, as `values` and `stop_completed`, before the stream ends; there has to be room in the log. */
export function tellStopped(active: ActiveRun, stop_reason: StopReason, kept: KeptTurn): void {
  if (kept.values !== undefined && active.run.kwargs.stream_mode.includes("values")) {
    active.log.emit({ event: "values", namespace: [], data: kept.values });
  }
  tellCustom(active, {
    type: "stop_completed",
    stop_reason,
    partial: kept.partial,
    tool_calls_executed: kept.executed,
    tool_calls_pending: kept.pending,
  });
  endActivity(active, { kind: "stopped", message_id: kept.reply_id });
}
