import { setTimeout as sleep } from "node:timers/promises";
import type { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import { AppError, errorMessage, isAppError } from "../errors.ts";
import type { Graphs } from "../graph/load.ts";
import type { Logger } from "../logger.ts";
import type { RunServices } from "../loop/services.ts";
import { JsonObject, type Run } from "../storage/records.ts";
import type { RunOutcome, Storage } from "../storage/storage.ts";
import type { ActiveRun } from "./active-run.ts";
import { readPause, toRunError, walk, type WalkResult } from "./execute.ts";
import { hasProgress, removeProgress } from "./recover.ts";
import { noPause, outcomeOf, type Ending, type Pause } from "./status.ts";

/** What performing a run needs from its server. */
export interface Performance {
  storage: Storage;
  graphs: Graphs;
  services: (sessionId: string) => RunServices;
  logger: Logger;
  /** Receives the spans of every run (TRACE-01); absent where nobody traces. */
  tracer?: BaseCallbackHandler | undefined;
  /** Milliseconds between two tries of what the store refuses. */
  retryDelay: number;
  /** Aborted when the server stops. */
  stopping: AbortSignal;
  /** The last values of runs that have just ended, by the row they ended with. */
  lastValues: WeakMap<Run, Record<string, unknown>>;
}

const stopped: WalkResult = { ending: { kind: "stopped" }, paused: false, values: undefined };

/**
 * One attempt of a run from its first event to its written end. Followers end only after the end is written. A run that
 * the server's own stop has interrupted is let go of with its row still `running`.
 */
export async function performRun(active: ActiveRun, performance: Performance): Promise<void> {
  const { stop } = active;
  const result = stop.signal.aborted ? stopped : await attempt(active, performance);
  if (active.ended) return;
  if (result.ending.kind === "stopped" && stop.cause === "drain") {
    await letGo(active, performance);
    return;
  }
  active.ended = true;
  const ending = endingOf(result.ending, stop);
  const pause = await pauseAfter(active, { ...result, ending }, performance);
  const run = await writeEnd(active, outcomeOf(ending, pause), performance);
  if (run === undefined) {
    await letGo(active, performance);
    return;
  }
  if (result.values !== undefined) performance.lastValues.set(run, result.values);
  if (active.rollback) await rollBack(active, run, performance);
  active.settle(run);
}

/** A walk that was stopped because its events could not be stored has failed; nobody stopped it. */
function endingOf(ending: Ending, stop: ActiveRun["stop"]): Ending {
  if (ending.kind !== "stopped" || stop.cause !== "storage") return ending;
  return { kind: "failed", error: toRunError(stop.signal.reason) };
}

async function attempt(active: ActiveRun, { storage, graphs, services, tracer }: Performance): Promise<WalkResult> {
  const { run, log, stop } = active;
  try {
    await log.room();
    log.emit({ event: "metadata", data: { run_id: run.run_id, attempt: run.attempt } });
    const configurable = JsonObject.safeParse(run.kwargs.config["configurable"]).data ?? {};
    return await walk({
      run,
      graph: await graphs.forRun(run.graph_id, configurable),
      services: services(run.session_id),
      resume: run.attempt > 1 && (await hasProgress(storage.checkpointer, run)),
      signal: stop.signal,
      tracer,
      tell: (event) => log.emit(event),
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
async function writeEnd(active: ActiveRun, outcome: RunOutcome, performance: Performance): Promise<Run | undefined> {
  const { storage, stopping, logger, retryDelay } = performance;
  const { run_id } = active.run;
  let told = outcome.error === undefined;
  for (;;) {
    try {
      if (!told && outcome.error !== undefined) {
        await active.log.room();
        active.log.emit({ event: "error", data: outcome.error });
        told = true;
      }
      await active.log.flush();
      const run = (await storage.runs.finish(run_id, outcome)) ?? (await storage.runs.get(run_id));
      return run ?? unwritten(active.run, outcome);
    } catch (error) {
      // Its session was removed meanwhile: there is nowhere to write to.
      if (isAppError(error) && error.code === "not_found") return unwritten(active.run, outcome);
      logger.error({ err: error, run_id }, "run_end_not_written");
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

/** Removes the run's checkpoints and row; the session then waits for what it waited for before. */
async function rollBack(active: ActiveRun, run: Run, performance: Performance): Promise<void> {
  const { storage, graphs, logger } = performance;
  try {
    await removeProgress(storage.checkpointer, run);
    const pause = await readPause(graphs.get(run.graph_id), run.session_id);
    const { session_status: status, interrupts } = outcomeOf({ kind: "done" }, pause);
    await storage.runs.delete(active.run.run_id);
    const queued = await storage.runs.list(run.session_id, { limit: 1, offset: 0, status: "pending" });
    await storage.sessions.update(run.session_id, { interrupts, status: queued.length > 0 ? "busy" : status });
  } catch (error) {
    logger.error({ err: error, run_id: run.run_id }, "rollback_failed");
  }
}
