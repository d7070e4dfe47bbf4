import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import type { Run } from "../../storage/records.ts";
import type { ActiveRun } from "../active-run.ts";
import { askingRun } from "../admission/asking-run.ts";
import type { KeptTurn } from "../companion.ts";
import type { Fence } from "./fence.ts";
import type { RunnerDeps } from "../options.ts";
import { crashLoop } from "../status.ts";

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

/** Keeps what a stopped run has done; returns with the session's values after it. */
export async function keepStopped(
  active: ActiveRun,
  { saver }: Fence,
  deps: RunnerDeps,
): Promise<Record<string, unknown> | undefined> {
  const { run, stop } = active;
  const { logger } = deps;
  const looping = crashLoop(run, deps.crashBudget);
  if (looping !== undefined) {
    // It may be this that ends the process; then no start would ever come further.
    logger.error({ run_id: run.run_id, problem: looping.message }, "stopped_turn_not_kept");
    return undefined;
  }
  try {
    const keeping = keepTurnOf(active, saver, deps);
    const kept = await endsInTime(keeping, stop.signal, deps.stopPatience ?? stopPatience);
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
async function keepTurnOf(active: ActiveRun, saver: Fence["saver"], { graphs }: RunnerDeps): Promise<KeptTurn> {
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

/**
 * When a new message comes while a question is open, or after a run that broke off, LangGraph drops the unfinished step
 * with all it had done. That turn is kept first, by way of `saver`, or the model would do again what it does not know
 * of. Throws what the store throws.
 */
export async function keepFormer(
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
  if (!hasQuestion && (await askingRun(storage.runs, run.session_id))?.status === "success") return;
  const graph = await graphs.ofRun(run, "threads.update");
  const reason = hasQuestion ? "abandoned" : "failed";
  await extension.keepFormer({ graph, run, reason, saver });
}
