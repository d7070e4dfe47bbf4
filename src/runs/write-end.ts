import { setTimeout as sleep } from "node:timers/promises";
import { isAppError } from "@millrace/engine/errors/errors";
import type { Run } from "@millrace/engine/storage/records";
import type { RunOutcome } from "@millrace/engine/storage/storage";
import type { ActiveRun } from "./active-run.ts";
import type { Performance } from "./performance.ts";
import { freshTime } from "./event-clock.ts";
import { isOver } from "./status.ts";

/**
 * Stores the last events and the end; of a failed run an `error` event is the last. While the store refuses (a full disk),
 * this tries again: until it is written the run is not over for anybody. `undefined` when the server stops first.
 */
export async function writeEnd(
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
