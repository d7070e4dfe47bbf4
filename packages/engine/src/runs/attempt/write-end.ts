import { setTimeout as sleep } from "node:timers/promises";
import { isAppError } from "../../errors/errors.ts";
import type { Run } from "../../storage/records.ts";
import type { RunOutcome } from "../../storage/storage.ts";
import type { ActiveRun } from "../active-run.ts";
import { freshTime } from "../events/event-clock.ts";
import { readNewest } from "../follow/newest-state.ts";
import type { RunnerDeps } from "../options.ts";
import { isOver } from "../status.ts";
import { isOwnPath } from "../webhook-sender.ts";

/**
 * Stores the last events and the end; of a failed run an `error` event is the last. While the store refuses (a full disk),
 * this tries again: until it is written the run is not over for anybody. `undefined` when the server stops first.
 */
export async function writeEnd(
  active: ActiveRun,
  outcome: RunOutcome,
  tellEnd: () => void,
  deps: RunnerDeps,
): Promise<Run | undefined> {
  const { storage, stopping, logger, retryDelay } = deps;
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
      const ended_at = new Date(freshTime()).toISOString();
      const run =
        (await storage.runs.finish(run_id, { ...outcome, ended_at }, fence)) ?? (await storage.runs.get(run_id));
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

/**
 * What is to be told of a run's end, when somebody asked for it; it is written with that end, so that no crash comes between. Never throws: without its values, a run has ended all the same.
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
  const ended_at = new Date().toISOString();
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
