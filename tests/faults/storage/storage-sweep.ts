import { isAppError } from "@millrace/engine/errors/errors";
import type { Run } from "@millrace/engine/storage/records";
import { never } from "../../runs/fixtures.ts";
import type { Faults, FaultCode } from "./faulty-database.ts";
import type { StorageBench } from "./storage-bench.ts";

/** Failed writes after which everything that the engine does by itself has met the fault and only tries again. */
const enough = 12;

/** The error code that a client gets for each failure of SQLite; a busy database is no failure, it is waited for. */
export const reportedCodes = {
  SQLITE_FULL: "storage_full",
  SQLITE_IOERR_WRITE: "storage_io",
  SQLITE_IOERR_FSYNC: "storage_io",
  SQLITE_READONLY: "storage_readonly",
} as const satisfies Partial<Record<FaultCode, string>>;

/** The result of a sweep: what was wrong, and how the faults ended. */
export interface SweepOutcome {
  problems: string[];
  /** Runs that failed, as they have to. */
  failed: number;
  /** Runs that were refused, because the fault met their admission. */
  refused: number;
  /** Runs that ended well when what met the fault was tried again. */
  done: number;
}

/** What the engine is broken with. */
export interface SweepOptions {
  bench: StorageBench;
  faults: Faults;
  sqlite: keyof typeof reportedCodes;
  /** The writes from which on all fail, one after the other. */
  points: readonly number[];
}

/**
 * Makes every write from the k-th on fail, for each k of `points`, under a run each time, lifts the fault and has the same
 * session do its next run (reliability D2).
 */
export async function sweepFaults({ bench, faults, sqlite, points }: SweepOptions): Promise<SweepOutcome> {
  const outcome: SweepOutcome = { problems: [], failed: 0, refused: 0, done: 0 };
  const first = await bench.start();
  await bench.runs.wait(first.run_id, never);
  for (const k of points) {
    const before = { ...bench.counts };
    faults.set(sqlite, k, Infinity, () => Object.assign(before, bench.counts));
    const problem = (text: string): void => void outcome.problems.push(`${sqlite} from write ${k} on: ${text}`);
    const { run, code } = await meetFault(bench, faults, first, problem);
    const after = { ...bench.counts };
    faults.lift();
    const ended = await bench.runs.wait(run.run_id, never);
    if (code === undefined) {
      // Only what is tried again by itself was met: the claim, the events or the end of the run.
      outcome.done += 1;
      if (ended.status !== "success") problem(`the run ended with ${ended.status}`);
    } else {
      outcome[ended.error === null ? "refused" : "failed"] += 1;
      if (code !== reportedCodes[sqlite]) problem(`was reported as ${code}`);
      const [models, tools] = [after.models - before.models, after.tools - before.tools];
      if (models > 1) problem(`${models} model calls after the first failed write`);
      if (tools > 0) problem(`${tools} tools started after the first failed write`);
    }
    const next = await bench.runs.wait((await bench.start(first.session_id)).run_id, never);
    if (next.status !== "success") problem(`the next run ended with ${next.status}`);
  }
  const integrity = bench.storage.checkpointer.db.pragma("integrity_check", { simple: true });
  if (integrity !== "ok") outcome.problems.push(`${sqlite}: the database is damaged: ${String(integrity)}`);
  return outcome;
}

/** Makes some writes from the k-th on find the database busy, for each k: what is waited for fails no run; those it failed. */
export async function sweepBusy(bench: StorageBench, faults: Faults, points: readonly number[]): Promise<string[]> {
  const failed: string[] = [];
  for (const k of points) {
    faults.set("SQLITE_BUSY", k, 1 + (k % 3), () => undefined);
    const ended = await bench.runs.wait((await bench.start()).run_id, never);
    if (ended.status !== "success" || ended.error !== null) failed.push(`k = ${k}: the run ended with ${ended.status}`);
    faults.lift();
  }
  return failed;
}

/** Starts runs until one has met the fault, which is then lifted: that run, and the code that was reported. */
async function meetFault(
  bench: StorageBench,
  faults: Faults,
  first: Run,
  problem: (text: string) => void,
): Promise<{ run: Run; code: string | undefined }> {
  let run = first;
  for (;;) {
    let started: Run;
    try {
      started = await bench.start(first.session_id);
    } catch (error) {
      if (!isAppError(error)) throw error;
      return { run, code: error.code };
    }
    run = started;
    const ended = bench.runs.wait(run.run_id, never);
    await Promise.race([faults.failed(enough), ended]);
    if (faults.failures === 0) continue;
    if (faults.failures >= enough && !(await readsWork(bench, run))) problem("reads are not answered");
    faults.lift();
    return { run, code: (await ended).error?.error };
  }
}

async function readsWork({ storage }: StorageBench, run: Run): Promise<boolean> {
  await storage.events.read(run.run_id, -1, 100);
  await storage.ledger.list(run.session_id);
  await storage.checkpointer.getTuple({ configurable: { thread_id: run.session_id } });
  const [session, stored] = [await storage.sessions.get(run.session_id), await storage.runs.get(run.run_id)];
  return session !== undefined && stored !== undefined;
}
