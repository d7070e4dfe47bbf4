import { setTimeout as sleep } from "node:timers/promises";
import { clusterDate } from "../../concurrency/cluster-time.ts";
import { AppError, errorMessage, isAppError } from "../../errors/errors.ts";
import type { Run } from "../../storage/records.ts";
import { begunRuns, RollbackRequired, type RunOutcome, SessionMovedOn } from "../../storage/attempt-store.ts";
import type { ActiveRun } from "../active-run.ts";
import { eventTime } from "../events/log.ts";
import { readNewest } from "../follow/follow.ts";
import type { RunnerDeps } from "../options.ts";
import { removeStates } from "../remove-run.ts";
import { crashLoopError, type Ending, isOver, toRunError } from "../status.ts";
import { isOwnPath } from "../webhook-sender.ts";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { interruptedRun } from "../admission/executed-runs.ts";
import type { KeptTurn } from "../companion.ts";

/**
 * Stores the last events and the outcome; the last event of a failed run is `error`. Retries while the store refuses (a full
 * disk): the run is over only once its outcome is stored. `undefined` when the server stops first. The checkpoints of a
 * rolled back run are removed before. `readOutcome` gives the outcome as it is at that moment, and never throws.
 */
export async function writeOutcome(
  active: ActiveRun,
  emitEnd: () => void,
  readOutcome: () => Promise<RunOutcome>,
  deps: RunnerDeps,
): Promise<Run | undefined> {
  const { storage, stopping, logger, retryDelay } = deps;
  const { run_id } = active.run;
  let end: RunOutcome | undefined;
  let isEmitted = false;
  for (;;) {
    end ??= active.rollback ? await withoutStates(active, readOutcome, deps) : await readOutcome();
    try {
      if (!isEmitted) {
        await active.log.room();
        emitEnd();
        isEmitted = true;
      }
      const ended_at = new Date(eventTime("apart")).toISOString();
      const written = await active.store.finish({ ...end, ended_at }, active.log);
      const run = written ?? (await storage.runs.get(run_id));
      if (run !== undefined && !isOver(run.status)) return undefined;
      // The rollback may have been requested just before the outcome was stored.
      if (run?.stop_requested === "rollback") active.rollback = true;
      if (end.webhook !== undefined) deps.onWebhook?.();
      return run ?? unwritten(active.run, end);
    } catch (error) {
      if (isOutdated(error)) {
        if (error instanceof RollbackRequired) active.rollback = true;
        end = undefined;
        continue;
      }
      // Its session was removed meanwhile, so there is no row to update.
      if (isAppError(error) && error.code === "not_found") return unwritten(active.run, end);
      logger.error({ err: error, run_id }, "run_end_not_written");
      // Another attempt continues the run and will store its outcome.
      if (isTakenOver(active, error)) return undefined;
      if (stopping.aborted) return undefined;
      // An abort only ends the wait; the loop then tries a last time.
      await sleep(retryDelay, undefined, { signal: stopping, ref: false }).catch(() => undefined);
    }
  }
}

/** Whether an outcome is refused because another one is due. */
function isOutdated(error: unknown): error is RollbackRequired | SessionMovedOn {
  return error instanceof RollbackRequired || error instanceof SessionMovedOn;
}

function isTakenOver({ store }: ActiveRun, error: unknown): boolean {
  return (isAppError(error) && error.code === "conflict") || store.isLost === true;
}

/** The outcome of a rolled back run, after the removal of its checkpoints; it has no webhook. */
async function withoutStates(
  active: ActiveRun,
  readOutcome: () => Promise<RunOutcome>,
  deps: RunnerDeps,
): Promise<RunOutcome> {
  const outcome = await readOutcome();
  if (active.hasBegun) await removeStates(active.run, deps);
  return { ...outcome, webhook: undefined, isRemoved: true };
}

/** How a run ended whose row is gone. */
function unwritten(run: Run, outcome: RunOutcome): Run {
  return { ...run, status: outcome.status, error: outcome.error ?? null };
}

/** `RunOutcome.readAt` of a run. `undefined` where the store does not answer: then the end is written all the same. */
export async function begunBeside(
  { run_id, session_id }: Run,
  { storage, logger }: RunnerDeps,
): Promise<string | undefined> {
  try {
    return begunRuns(await storage.runs.marks(session_id));
  } catch (error) {
    logger.warn({ err: error, run_id }, "session_state_unreadable");
    return undefined;
  }
}

/**
 * The webhook of a run that asked for one. It is stored in one transaction with the run's end, so that a crash cannot
 * come between. Never throws: a run ends also where its values cannot be read.
 */
export async function webhookOf(
  run: Run,
  outcome: RunOutcome,
  values: Record<string, unknown> | undefined,
  { storage, webhookBody, logger }: Pick<RunnerDeps, "storage" | "webhookBody" | "logger">,
): Promise<RunOutcome["webhook"]> {
  const { webhook: url } = run.kwargs;
  if (url === undefined || webhookBody === undefined) return undefined;
  const newest = values === undefined ? await newestOf(run, { storage, logger }) : undefined;
  const ended_at = clusterDate();
  const ended: Run = { ...run, status: outcome.status, error: outcome.error ?? null, updated_at: ended_at };
  // While a run works, its row says when it began.
  const end = { values: values ?? newest ?? null, started_at: run.updated_at, ended_at };
  const place = { url, host: hostOf(url) };
  try {
    return { ...place, body: webhookBody(ended, end) };
  } catch (error) {
    // A graph may keep what cannot be written as JSON.
    logger.warn({ err: error, run_id: run.run_id }, "webhook_without_values");
    return { ...place, body: webhookBody(ended, { ...end, values: null }) };
  }
}

/** The receiver; empty for this server. */
function hostOf(url: string): string {
  return !isOwnPath(url) && URL.canParse(url) ? new URL(url).host : "";
}

async function newestOf(
  run: Run,
  { storage, logger }: Pick<RunnerDeps, "storage" | "logger">,
): Promise<Record<string, unknown> | undefined> {
  try {
    return (await readNewest(storage, run.session_id))?.values;
  } catch (error) {
    logger.warn({ err: error, run_id: run.run_id }, "session_state_unreadable");
    return undefined;
  }
}

/** Leaves an unfinished run to the next start or the next attempt. */
export async function leaveRun(active: ActiveRun, { logger }: RunnerDeps): Promise<void> {
  const { run_id, session_id } = active.run;
  logger.info({ run_id, session_id }, "run_parked");
  try {
    await active.log.flush();
  } catch (error) {
    logger.error({ err: error, run_id: active.run.run_id }, `events_not_stored: ${errorMessage(error)}`);
  }
  const isLost = active.store.isLost === true;
  if (!isLost) await releaseRun(active, logger);
  const { stop } = active;
  active.abandon(
    isLost
      ? new AppError("storage_unavailable", "The database lost the newest events; the run goes on from its last state.")
      : stop.reason === "app_shutdown"
        ? stop.signal.reason
        : new AppError("server", "The server is stopping; the run goes on after its restart."),
  );
}

/** Releases the run for any server. If this fails, the others take it over when the lease has expired. */
async function releaseRun({ store, run }: ActiveRun, logger: RunnerDeps["logger"]): Promise<void> {
  try {
    await store.release();
  } catch (error) {
    logger.error({ err: error, run_id: run.run_id }, "run_not_given_back");
  }
}

/**
 * The ending of a stopped run. It has failed where its events could not be stored; a timeout is a stop with an error.
 */
export function stoppedEnding(stop: ActiveRun["stop"]): Ending {
  switch (stop.reason) {
    case "error":
      return { kind: "failed", error: toRunError(stop.signal.reason) };
    case "timeout":
      return { kind: "stopped", error: toRunError(stop.signal.reason) };
    default:
      return { kind: "stopped" };
  }
}

/** Milliseconds that a stop waits for the work that it aborts. */
export const stopPatience = 5000;

/**
 * The result of `work`; `undefined` when it has not settled `patience` milliseconds after the abort of the signal. The work
 * itself goes on; the caller ignores its result.
 */
export async function settleWithin<Result>(
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

/** Keeps what a stopped run has done; returns with the session's values after it. */
export async function saveStoppedTurn(
  active: ActiveRun,
  saver: BaseCheckpointSaver,
  deps: RunnerDeps,
): Promise<Record<string, unknown> | undefined> {
  const { run, stop } = active;
  const { logger } = deps;
  const looping = crashLoopError(run, deps.crashBudget);
  if (looping !== undefined) {
    // It may be this that ends the process; then no start would ever come further.
    logger.error({ run_id: run.run_id, problem: looping.message }, "stopped_turn_not_kept");
    return undefined;
  }
  try {
    const keeping = keepTurnOf(active, saver, deps);
    const kept = await settleWithin(keeping, stop.signal, deps.stopPatience ?? stopPatience);
    if (kept === undefined) {
      logger.warn({ run_id: run.run_id }, "stop_forced");
      return undefined;
    }
    if (kept.values !== undefined && run.kwargs.stream_mode.includes("values")) {
      active.log.emit({ event: "values", namespace: [], data: kept.values });
    }
    kept.emit();
    return kept.values;
  } catch (error) {
    // The run ends all the same; before its next use the history is repaired for the model.
    logger.error({ err: error, run_id: run.run_id }, "stopped_turn_not_kept");
    return undefined;
  }
}

/** Ends what a stopped run still writes, and keeps its turn unless it is rolled back. Throws what the store throws. */
async function keepTurnOf(active: ActiveRun, saver: BaseCheckpointSaver, { graphs }: RunnerDeps): Promise<KeptTurn> {
  const graph = await graphs.ofRun(active.runWithUser, "threads.update");
  await active.saver?.close();
  // The kept turn goes into a checkpoint, which must not be on disk before the events.
  await active.log.flush();
  // Only a run that has begun owns the session's state; a queued one does not touch it.
  const turn = active.rollback || !active.hasBegun ? undefined : { graph, saver };
  const kept = await active.companion?.saveStoppedTurn(active.stop.reason ?? "user_requested", turn);
  await active.log.room();
  return kept ?? { values: undefined, emit: () => undefined };
}

/**
 * When a new message comes while a question is open, or after a run that broke off, LangGraph drops the unfinished step
 * with all it had done. That turn is kept first, by way of `saver`, or the model would do again what it does not know
 * of. Throws what the store throws.
 */
export async function saveUnfinishedTurn(
  run: Run,
  saver: BaseCheckpointSaver,
  { storage, graphs, extension }: Pick<RunnerDeps, "storage" | "graphs" | "extension">,
): Promise<void> {
  if (extension === undefined) return;
  const { command, input, checkpoint } = run.kwargs;
  if (command !== undefined || input === undefined || input === null || checkpoint?.["checkpoint_id"] !== undefined)
    return;
  const session = await storage.sessions.get(run.session_id);
  if (session === undefined) return;
  const hasQuestion = Object.keys(session.interrupts).length > 0;
  if (!hasQuestion && (await interruptedRun(storage.runs, run.session_id))?.status === "success") return;
  const graph = await graphs.ofRun(run, "threads.update");
  const reason = hasQuestion ? "abandoned" : "failed";
  await extension.saveUnfinishedTurn({ graph, run, reason, saver });
}
