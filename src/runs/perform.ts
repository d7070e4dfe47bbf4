import { setTimeout as sleep } from "node:timers/promises";
import type { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import type { CallBack } from "../callbacks/call-back.ts";
import { AppError, errorMessage, isAppError } from "../errors.ts";
import type { Graphs } from "../graph/load.ts";
import type { Logger } from "../logger.ts";
import type { BackgroundService, RunServices } from "../loop/services.ts";
import { JsonObject, type Run } from "../storage/records.ts";
import type { RunOutcome, Storage } from "../storage/storage.ts";
import type { ActiveRun } from "./active-run.ts";
import { endsInTime, endStopped, stopPatience } from "./end-stopped.ts";
import { readPause, toRunError, walk, type WalkResult } from "./execute.ts";
import { createFence } from "./fence.ts";
import { keepFormer } from "./keep-former.ts";
import { nodesWithLoop } from "./keep-turn.ts";
import { crashLoop, hasProgress } from "./recover.ts";
import { requireOrigin } from "./origin.ts";
import { removeRun } from "./remove-run.ts";
import { readToldMessages } from "./told-messages.ts";
import { createRunCallbacks } from "./run-callbacks.ts";
import { isOver, noPause, outcomeOf, type Ending, type Pause } from "./status.ts";
import {
  beginActivity,
  endActivity,
  followChunk,
  listenerOf,
  replyIdOf,
  stampOurs,
  tellCustom,
} from "./tell-activity.ts";

/** What performing a run needs from its server. */
export interface Performance {
  storage: Storage;
  graphs: Graphs;
  services: (sessionId: string) => RunServices;
  logger: Logger;
  /** Tells the server's callbacks (EVENT-03); absent where there are none. */
  callBack?: CallBack | undefined;
  /** Receives the spans of every run (TRACE-01); absent where nobody traces. */
  tracer?: BaseCallbackHandler | undefined;
  /** Attempts that may end with the process before a run is set aside. */
  crashBudget: number;
  /** Milliseconds between two tries of what the store refuses. */
  retryDelay: number;
  /** Aborted when the server stops. */
  stopping: AbortSignal;
  /** The last values of runs that have just ended, by the row they ended with. */
  lastValues: WeakMap<Run, Record<string, unknown>>;
  /** Where the run's agents work beyond its turn. */
  background?: (run: Run) => BackgroundService;
  /** Told of each run that is over; see `RunsOptions`. */
  onOver?: (run: Run) => void;
  /** Milliseconds a stop waits for what it stops. Default 5 s. */
  stopPatience?: number;
}

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
  const values = ending.kind === "stopped" ? await keepStopped(active, performance) : result.values;
  const pause = await pauseAfter(active, { ...result, ending }, performance);
  const tellEnd = (): void => tellEnding(active, ending, values);
  const run = await writeEnd(active, outcomeOf(ending, pause), tellEnd, performance);
  if (run === undefined) {
    await letGo(active, performance);
    return;
  }
  if (values !== undefined) performance.lastValues.set(run, values);
  if (active.rollback) await rollBack(run, performance);
  active.settle(run);
  active.callbacks?.over(run);
  performance.onOver?.(run);
}

/** What the readers get last: the end of what was going on, and of a failed run its error. */
function tellEnding(active: ActiveRun, ending: Ending, values: Record<string, unknown> | undefined): void {
  switch (ending.kind) {
    case "done":
      return endActivity(active, { kind: "replied", message_id: replyIdOf(active, values) });
    case "stopped":
      // Told already with what was kept, where that could be done.
      return endActivity(active, { kind: "stopped", message_id: null });
    case "failed":
      endActivity(active, { kind: "failed", error: ending.error });
      active.log.emit({ event: "error", data: ending.error });
  }
}

/** A walk that was stopped because its events could not be stored has failed; nobody stopped it. */
function endingOf(ending: Ending, stop: ActiveRun["stop"]): Ending {
  if (ending.kind !== "stopped" || stop.reason !== "error") return ending;
  return { kind: "failed", error: toRunError(stop.signal.reason) };
}

/** One attempt; of a stopped one that does not end in time nothing more is heard (STOP-05). */
async function attemptUntilStopped(active: ActiveRun, performance: Performance): Promise<WalkResult> {
  const { stop, run } = active;
  const onStop = (): void => {
    const { reason } = stop;
    // A run that goes on after a restart, or that has failed, was stopped by nobody.
    if (reason === undefined || reason === "app_shutdown" || reason === "error") return;
    tellCustom(active, { type: "stop_requested", stop_reason: reason });
  };
  stop.signal.addEventListener("abort", onStop, { once: true });
  try {
    const result = await endsInTime(
      attempt(active, performance),
      stop.signal,
      performance.stopPatience ?? stopPatience,
    );
    if (result === undefined) performance.logger.warn({ run_id: run.run_id }, "stop_forced");
    return result ?? stopped;
  } finally {
    stop.signal.removeEventListener("abort", onStop);
  }
}

/** Keeps what a stopped run has done; answers with the session's values after it. */
async function keepStopped(active: ActiveRun, performance: Performance): Promise<Record<string, unknown> | undefined> {
  const { run, stop, progress } = active;
  const { graphs, services, logger } = performance;
  try {
    const turn = {
      graph: graphs.get(run.graph_id),
      run,
      services: { ...services(run.session_id), progress },
      reason: stop.reason ?? "user_requested",
    };
    const kept = await endsInTime(endStopped(active, turn), stop.signal, performance.stopPatience ?? stopPatience);
    if (kept === undefined) logger.warn({ run_id: run.run_id }, "stop_forced");
    return kept?.values;
  } catch (error) {
    // The run ends all the same; before its next use the history is repaired for the model.
    logger.error({ err: error, run_id: run.run_id }, "stopped_turn_not_kept");
    return undefined;
  }
}

async function attempt(active: ActiveRun, performance: Performance): Promise<WalkResult> {
  const { storage, graphs, services, tracer } = performance;
  const { run, log, stop } = active;
  const looping = crashLoop(run, performance.crashBudget);
  if (looping !== undefined) return { ending: { kind: "failed", error: looping }, paused: false, values: undefined };
  active.fence = createFence(storage.checkpointerWith(log));
  const resumes = run.attempt > 1 || run.kwargs.command?.["resume"] !== undefined;
  active.callbacks = performance.callBack && createRunCallbacks(run, performance.callBack);
  active.callbacks?.begins(resumes);
  try {
    await log.room();
    log.emit({ event: "metadata", data: { run_id: run.run_id, attempt: run.attempt } });
    const resume = run.attempt > 1 && (await hasProgress(storage.checkpointer, run));
    if (!resume) {
      // Once more: the run before may have been rolled back, and its checkpoints with it.
      await requireOrigin(run, storage.checkpointer);
      await keepFormer(run, performance);
    }
    const configurable = JsonObject.safeParse(run.kwargs.config["configurable"]).data ?? {};
    const graph = await graphs.forRun(run.graph_id, configurable);
    beginActivity(active, nodesWithLoop(graph).size > 0);
    active.callbacks?.walks(resumes);
    return await walk({
      run,
      graph,
      services: {
        ...services(run.session_id),
        progress: active.progress,
        onEvent: listenerOf(active, performance.logger),
        // What a session for one run has sent would outlive it, and nobody would hear of it.
        background: run.kwargs.temporary ? undefined : performance.background?.(run),
      },
      resume,
      toldMessages: resume ? await readToldMessages(storage.events, run.run_id, stop.signal) : undefined,
      signal: stop.signal,
      saver: active.fence.saver,
      control: stop.control,
      tracer,
      tell: (event) => {
        if (!active.ended) log.emit(stampOurs(active, event));
      },
      told: (mode, payload) => {
        if (!active.ended) followChunk(active, mode, payload);
      },
      room: () => log.room(),
    });
  } catch (error) {
    return { ending: { kind: "failed", error: toRunError(error) }, paused: false, values: undefined };
  }
}

/** What the session waits for afterwards; the checkpoint is read only where the walk cannot have told. */
async function pauseAfter(active: ActiveRun, result: WalkResult, performance: Performance): Promise<Pause> {
  if (result.ending.kind === "done" && !result.paused) return noPause;
  const { run } = active;
  try {
    return await readPause(performance.graphs.get(run.graph_id), run.session_id);
  } catch (error) {
    // The run has an end all the same; only what the session waits for is not known.
    performance.logger.warn({ err: error, run_id: run.run_id }, "session_state_unreadable");
    return noPause;
  }
}

/**
 * Stores the last events and the end; of a failed run an `error` event is the last. While the store refuses (a full disk),
 * this tries again: until it is written the run is not over for anybody. `undefined` when the server stops first.
 */
async function writeEnd(
  active: ActiveRun,
  outcome: RunOutcome,
  tellEnd: () => void,
  performance: Performance,
): Promise<Run | undefined> {
  const { storage, stopping, logger, retryDelay } = performance;
  const { run_id } = active.run;
  let told = false;
  for (;;) {
    try {
      if (!told) {
        await active.log.room();
        tellEnd();
        told = true;
      }
      await active.log.flush();
      // One that never walked can be claimed at this very moment: then any attempt of it ends.
      const fence = active.walking ? active.run.attempt : undefined;
      const run = (await storage.runs.finish(run_id, outcome, fence)) ?? (await storage.runs.get(run_id));
      if (run !== undefined && !isOver(run.status)) return undefined;
      return run ?? unwritten(active.run, outcome);
    } catch (error) {
      // Its session was removed meanwhile: there is nowhere to write to.
      if (isAppError(error) && error.code === "not_found") return unwritten(active.run, outcome);
      logger.error({ err: error, run_id }, "run_end_not_written");
      // Another attempt has taken the run up: its end is that one's to write.
      if (isAppError(error) && error.code === "conflict") return undefined;
      if (stopping.aborted) return undefined;
      // An abort only ends the wait; the loop then tries a last time.
      await sleep(retryDelay, undefined, { signal: stopping, ref: false }).catch(() => undefined);
    }
  }
}

/** How a run ended whose row is gone. */
function unwritten(run: Run, outcome: RunOutcome): Run {
  return { ...run, status: outcome.status, error: outcome.error ?? null };
}

async function letGo(active: ActiveRun, { logger }: Performance): Promise<void> {
  try {
    await active.log.flush();
  } catch (error) {
    logger.error({ err: error, run_id: active.run.run_id }, `events_not_stored: ${errorMessage(error)}`);
  }
  active.abandon(new AppError("server", "The server is stopping; the run goes on after its restart."));
}

/** Removes a run that is over with all it has written. A failure is logged: the next start tries again. */
export async function rollBack(
  run: Run,
  performance: Pick<Performance, "storage" | "graphs" | "logger">,
): Promise<void> {
  try {
    await removeRun(run, performance);
  } catch (error) {
    performance.logger.error({ err: error, run_id: run.run_id }, "rollback_failed");
  }
}
