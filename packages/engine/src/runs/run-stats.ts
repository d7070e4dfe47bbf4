import { clusterTime } from "../concurrency/cluster-time.ts";
import { countDuration, type Durations, noDurations } from "../metrics/families.ts";
import type { LimitName } from "../config/owner-limits.ts";
import type { Run, RunStatus } from "../storage/records.ts";
import type { ActiveRun } from "./active-run.ts";

/** What is counted of runs since the start. */
export interface RunCounts {
  readonly ended: Record<Exclude<RunStatus, "pending" | "running">, number>;
  /** From the admission to the first piece of a message, in seconds. */
  readonly firstToken: Durations;
  /** Model calls that a limit of their owner has kept from being made. */
  readonly refused: Partial<Record<LimitName, number>>;
}

/** The current state of the runs, with the counts. */
export interface RunStats extends RunCounts {
  running: number;
  waiting: number;
  /** How long the run waits that waits longest; 0 where none does. */
  oldestWaitingSeconds: number;
  readers: number;
}

/** Counts at zero. */
export function zeroCounts(): RunCounts {
  const bounds = [0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60];
  return { ended: { success: 0, error: 0, timeout: 0, interrupted: 0 }, firstToken: noDurations(bounds), refused: {} };
}

/** Counts the first chunk of a message. Only the first attempt counts: later ones continue a message. */
export function countFirstToken(
  { attempt, created_at }: Pick<Run, "attempt" | "created_at">,
  { firstToken }: RunCounts,
): void {
  if (attempt <= 1) countDuration(firstToken, Math.max(0, clusterTime() - Date.parse(created_at)) / 1_000);
}

/** The statistics of the runs on this server. */
export function runStats(active: Iterable<ActiveRun>, counts: RunCounts): RunStats {
  const numbers = { ...counts, running: 0, waiting: 0, oldestWaitingSeconds: 0, readers: 0 };
  const now = clusterTime();
  for (const { isExecuting, ended, readers, run } of active) {
    numbers.readers += readers;
    if (ended) continue;
    const since = now - Date.parse(run.created_at);
    if (isExecuting) numbers.running += 1;
    // One that is delayed has its time in the future.
    else if (since >= 0) {
      numbers.waiting += 1;
      numbers.oldestWaitingSeconds = Math.max(numbers.oldestWaitingSeconds, since / 1_000);
    }
  }
  return numbers;
}
