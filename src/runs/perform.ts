import { AppError, errorMessage } from "@millrace/engine/errors/errors";
import type { ActiveRun } from "./active-run.ts";
import { otherWorkedRun } from "./asking-run.ts";
import { attempt } from "./attempt.ts";
import { endsInTime, stopPatience } from "./end-stopped.ts";
import type { WalkResult } from "./execute.ts";
import { toRunError } from "./run-error.ts";
import { readPause } from "./read-pause.ts";
import type { KeptTurn } from "./extension.ts";
import { createFence, type Fence } from "./fence.ts";
import type { Performance } from "./performance.ts";
import { crashLoop } from "./recover.ts";
import { rollBack } from "./remove-run.ts";
import { noPause, outcomeOf, type Ending, type Pause } from "./status.ts";
import { limitTime } from "./time-limit.ts";
import { webhookOf } from "./webhook-of.ts";
import { writeEnd } from "./write-end.ts";

const stopped: WalkResult = { ending: { kind: "stopped" }, paused: false, values: undefined };

/**
 * One attempt of a run from its first event to its written end. Followers end only after the end is written. A run that
 * the server's own stop has interrupted is let go of with its row still `running`.
 */
export async function performRun(active: ActiveRun, performance: Performance): Promise<void> {
  const { stop } = active;
  const result = stop.signal.aborted ? stopped : await attemptUntilStopped(active, performance);
  // A walk that ended by itself although nobody has stopped it was parked before its next step.
  if (result.ending.kind === "stopped") stop.request("app_shutdown");
  if (active.ended) return;
  if (stop.state === "stop_requested") stop.move("stopping");
  if (result.ending.kind === "stopped" && stop.reason === "app_shutdown") {
    await letGo(active, performance);
    return;
  }
  active.ended = true;
  const ending = endingOf(result.ending, stop);
  const keeping = ending.kind === "stopped" ? createFence(performance.storage.checkpointer) : undefined;
  const values = keeping === undefined ? result.values : await keepStopped(active, keeping, performance);
  const pause = await pauseAfter(active, { ...result, ending }, performance);
  const tellEnd = (): void => tellEnding(active, ending, values);
  const outcome = outcomeOf(ending, pause);
  // Of one that is taken back nobody is told.
  const webhook = active.rollback ? undefined : await webhookOf(active.run, outcome, values, performance);
  const run = await writeEnd(active, { ...outcome, webhook }, tellEnd, performance);
  // What a forced stop has left under way must not come after what the next run writes.
  void keeping?.close();
  if (run === undefined) {
    await letGo(active, performance);
    return;
  }
  if (values !== undefined) performance.lastValues.set(run, values);
  if (active.rollback) await rollBack(run, performance);
  active.settle(run);
  active.companion?.over(run);
  performance.onOver?.(run);
}

/** What the readers get last: the end of what was going on, and of a failed run its error. */
function tellEnding(active: ActiveRun, ending: Ending, values: Record<string, unknown> | undefined): void {
  active.companion?.ended(ending, values);
  if (ending.kind === "failed") active.log.emit({ event: "error", data: ending.error });
}

/**
 * A walk that was stopped because its events could not be stored has failed; nobody stopped it. One whose time is up
 * was stopped, and says so.
 */
function endingOf(ending: Ending, stop: ActiveRun["stop"]): Ending {
  if (ending.kind !== "stopped") return ending;
  switch (stop.reason) {
    case "error":
      return { kind: "failed", error: toRunError(stop.signal.reason) };
    case "timeout":
      return { kind: "stopped", error: toRunError(stop.signal.reason) };
    default:
      return ending;
  }
}

/** One attempt; of a stopped one that does not end in time nothing more is heard. */
async function attemptUntilStopped(active: ActiveRun, performance: Performance): Promise<WalkResult> {
  const { stop, run } = active;
  const onStop = (): void => {
    const { reason } = stop;
    // A run that goes on after a restart, or that has failed, was stopped by nobody.
    if (reason === undefined || reason === "app_shutdown" || reason === "error") return;
    active.companion?.stopRequested(reason);
  };
  stop.signal.addEventListener("abort", onStop, { once: true });
  const endClock = limitTime(active, performance.runTimeout);
  try {
    const result = await endsInTime(
      attempt(active, performance),
      stop.signal,
      performance.stopPatience ?? stopPatience,
    );
    if (result === undefined) performance.logger.warn({ run_id: run.run_id }, "stop_forced");
    return result ?? stopped;
  } finally {
    endClock();
    stop.signal.removeEventListener("abort", onStop);
  }
}

/** Keeps what a stopped run has done; answers with the session's values after it. */
async function keepStopped(
  active: ActiveRun,
  { saver }: Fence,
  performance: Performance,
): Promise<Record<string, unknown> | undefined> {
  const { run, stop } = active;
  const { logger } = performance;
  const looping = crashLoop(run, performance.crashBudget);
  if (looping !== undefined) {
    // It may be this that ends the process; then no start would ever come further.
    logger.error({ run_id: run.run_id, problem: looping.message }, "stopped_turn_not_kept");
    return undefined;
  }
  try {
    const keeping = keepTurnOf(active, saver, performance);
    const kept = await endsInTime(keeping, stop.signal, performance.stopPatience ?? stopPatience);
    if (kept === undefined) {
      logger.warn({ run_id: run.run_id }, "stop_forced");
      return undefined;
    }
    if (kept.values !== undefined && run.kwargs.stream_mode.includes("values")) {
      active.log.emit({ event: "values", namespace: [], data: kept.values });
    }
    kept.tell();
    return kept.values;
  } catch (error) {
    // The run ends all the same; before its next use the history is repaired for the model.
    logger.error({ err: error, run_id: run.run_id }, "stopped_turn_not_kept");
    return undefined;
  }
}

/** Ends what a stopped run still writes, and keeps its turn unless it is rolled back. Throws what the store throws. */
async function keepTurnOf(active: ActiveRun, saver: Fence["saver"], { graphs }: Performance): Promise<KeptTurn> {
  const graph = await graphs.ofRun(active.told, "threads.update");
  await active.fence?.close();
  // What is kept goes into a checkpoint: never before what was told.
  await active.log.flush();
  // Only a run that has begun owns the session; one that waits for its turn leaves it be.
  const turn = active.rollback || !active.hasBegun ? undefined : { graph, saver };
  const kept = await active.companion?.stopped(active.stop.reason ?? "user_requested", turn);
  await active.log.room();
  return kept ?? { values: undefined, tell: () => undefined };
}

/** What the session waits for afterwards; the checkpoint is read only where the walk cannot have told. */
async function pauseAfter(active: ActiveRun, result: WalkResult, performance: Performance): Promise<Pause> {
  if (result.ending.kind === "done" && !result.paused) return noPause;
  const { run } = active;
  try {
    // One that has not begun has left nothing: the state is that of the run before, which may be another graph's.
    const before = run.attempt === 0 ? await otherWorkedRun(performance.storage.runs, run) : undefined;
    const graph = await performance.graphs.ofRun(before ?? active.told, "threads.read");
    return await readPause(graph, run.session_id);
  } catch (error) {
    // The run has an end all the same; only what the session waits for is not known.
    performance.logger.warn({ err: error, run_id: run.run_id }, "session_state_unreadable");
    return noPause;
  }
}

async function letGo(active: ActiveRun, { logger }: Performance): Promise<void> {
  try {
    await active.log.flush();
  } catch (error) {
    logger.error({ err: error, run_id: active.run.run_id }, `events_not_stored: ${errorMessage(error)}`);
  }
  active.abandon(new AppError("server", "The server is stopping; the run goes on after its restart."));
}
