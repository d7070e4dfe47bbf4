import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isAppError } from "../../src/errors.ts";
import type { Run } from "../../src/storage/records.ts";
import { never } from "../runs/fixtures.ts";
import { Faults, openFaulty, type FaultCode } from "./faulty-database.ts";
import { openStorageBench, type StorageBench } from "./storage-bench.ts";

/** Points of the sweep per error; D2 in reliability.md has 200. */
const points = Number(process.env["FAULT_POINTS"] ?? 40);
/** Failed writes after which everything that the engine does by itself has met the fault and only tries again. */
const enough = 12;

const codes: Record<Exclude<FaultCode, "SQLITE_BUSY">, string> = {
  SQLITE_FULL: "storage_full",
  SQLITE_IOERR_WRITE: "storage_io",
  SQLITE_READONLY: "storage_readonly",
};

let folder = "";
let bench: StorageBench;
const faults = new Faults();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-faults-"));
  bench = openStorageBench(join(folder, "m.db"), openFaulty(faults));
});
afterAll(async () => {
  await bench.close();
  await rm(folder, { recursive: true, force: true });
});

async function readsWork(run: Run): Promise<void> {
  const { storage } = bench;
  expect(await storage.sessions.get(run.session_id)).toBeDefined();
  expect(await storage.runs.get(run.run_id)).toBeDefined();
  await storage.events.read(run.run_id, -1, 100);
  await storage.ledger.list(run.session_id);
  await storage.checkpointer.getTuple({ configurable: { thread_id: run.session_id } });
}

/** Runs turns of one session until the fault is met; the code that a refused admission or the failed run names. */
async function meetFault(sessionId: string, first: Run): Promise<{ run: Run; code: string | undefined }> {
  let run = first;
  for (;;) {
    let started: Run;
    try {
      started = await bench.start(sessionId);
    } catch (error) {
      if (!isAppError(error)) throw error;
      return { run, code: error.code };
    }
    run = started;
    const ended = bench.runs.wait(run.run_id, never);
    await Promise.race([faults.failed(enough), ended]);
    if (faults.failures === 0) continue;
    if (faults.failures >= enough) await readsWork(run);
    faults.lift();
    return { run, code: (await ended).error?.error };
  }
}

describe.each(Object.entries(codes))("%s from the k-th write on", (sqlite, code) => {
  it(`fails the run as ${code}, starts nothing more and is over when it is lifted (k = 1..${points})`, async () => {
    const first = await bench.start();
    await bench.runs.wait(first.run_id, never);
    const outcomes = { run: 0, admission: 0, none: 0 };
    for (let k = 1; k <= points; k += 1) {
      const before = { ...bench.counts };
      // The keys of `codes` are the codes of SQLite.
      faults.set(sqlite as FaultCode, k, Infinity, () => Object.assign(before, bench.counts));
      const { run, code: told } = await meetFault(first.session_id, first);
      const after = { ...bench.counts };
      faults.lift();
      const ended = await bench.runs.wait(run.run_id, never);
      if (told === undefined) {
        // Only what is tried again by itself was met: the claim, the events or the end of the run.
        expect(ended.status, `k = ${k}`).toBe("success");
        outcomes.none += 1;
      } else {
        expect(told, `k = ${k}`).toBe(code);
        outcomes[ended.error === null ? "admission" : "run"] += 1;
        expect(after.models - before.models, `model calls after the failed write ${k}`).toBeLessThanOrEqual(1);
        expect(after.tools - before.tools, `tools started after the failed write ${k}`).toBe(0);
      }
      const next = await bench.start(first.session_id);
      expect(await bench.runs.wait(next.run_id, never), `the run after k = ${k}`).toMatchObject({ status: "success" });
    }
    process.stdout.write(
      `${sqlite}: ${points} points, ${outcomes.run} failed runs, ${outcomes.admission} refused, ${outcomes.none} done after a new try\n`,
    );
    expect(bench.storage.checkpointer.db.pragma("integrity_check", { simple: true })).toBe("ok");
  });
});

describe("SQLITE_BUSY for some writes from the k-th on", () => {
  it(`is waited for, and every run ends well (k = 1..${points})`, async () => {
    for (let k = 1; k <= points; k += 1) {
      faults.set("SQLITE_BUSY", k, 1 + (k % 3), () => undefined);
      const run = await bench.start();
      expect(await bench.runs.wait(run.run_id, never), `k = ${k}`).toMatchObject({ status: "success", error: null });
      faults.lift();
    }
  });
});
