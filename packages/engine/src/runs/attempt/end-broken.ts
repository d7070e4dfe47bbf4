import type { ActiveRun } from "../active-run.ts";
import type { RunnerDeps } from "../options.ts";
import { rollBack } from "../remove-run.ts";
import { type Ending, isOver, noPause, outcomeOf, toRunError } from "../status.ts";
import { leaveRun, writeOutcome } from "./end.ts";

/**
 * Ends a run whose attempt has thrown, which is a defect of the server: with that error, so that its session is free and those
 * who wait for it go on. Where its end is stored already, that stands; where it cannot be stored before the server stops,
 * the next attempt goes on with the run.
 */
export async function endBroken(active: ActiveRun, thrown: unknown, deps: RunnerDeps): Promise<void> {
  const { run_id, session_id } = active.run;
  deps.logger.error({ err: thrown, run_id, session_id }, "attempt_broke_off");
  active.ended = true;
  // What it has left under way ends, too.
  active.stop.request("error", thrown);
  const stored = await deps.storage.runs.get(run_id).catch(() => undefined);
  if (stored !== undefined && isOver(stored.status)) return active.settle(stored);
  const error = toRunError(thrown);
  const ending: Ending = { kind: "failed", error };
  const run = await writeOutcome(
    active,
    () => active.log.emit({ event: "error", data: error }),
    async () => outcomeOf(ending, noPause),
    deps,
  );
  if (run === undefined) return await leaveRun(active, deps);
  if (active.rollback) await rollBack(run, deps);
  active.settle(run);
  deps.counts.ended.error += 1;
}
