import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { projectFolder } from "../support/source-files.ts";
import type { Run } from "@millrace/engine/storage/records";
import { never } from "../runs/fixtures.ts";
import { openStorageBench, type StorageBench } from "./storage-bench.ts";

/** Milliseconds another process holds the write lock; D1 in reliability.md says 8,000, CI is shorter. */
const held = Number(process.env["LOCK_MS"] ?? 2500);
const runsAtOnce = 20;

let folder = "";
let bench: StorageBench;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-foreign-lock-"));
  bench = openStorageBench(join(folder, "m.db"));
});
afterEach(async () => {
  await bench.close();
  await rm(folder, { recursive: true, force: true });
});

describe("a write lock that another process holds", () => {
  it(`fails no run and freezes nothing for ${held} ms`, { timeout: 60_000 }, async () => {
    // What runs for the first time is compiled; that is not the lock's doing. The second time is what no lock costs here.
    const delays = monitorEventLoopDelay({ resolution: 1 });
    const warm: Run[] = [];
    for (const round of [1, 2]) {
      if (round === 2) delays.enable();
      const started = await Promise.all(Array.from({ length: 2 * runsAtOnce }, () => bench.start()));
      await Promise.all(started.map(({ run_id }) => bench.runs.wait(run_id, never)));
      warm.push(...started);
    }
    delays.disable();
    const usual = delays.max / 1e6;
    const before = await bench.start();
    const early = Promise.all(Array.from({ length: runsAtOnce - 1 }, () => bench.start()));
    const file = join(projectFolder, "tests/faults/lock-holder.ts");
    const holder = spawn(process.execPath, [file, join(folder, "m.db"), String(held)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const left = once(holder, "exit");
    await once(holder.stdout, "data");
    delays.reset();
    delays.enable();
    const started = performance.now();
    // Admission, events, checkpoints, ledger and ends all meet the lock; reads do not.
    const under = Promise.all(Array.from({ length: runsAtOnce }, () => bench.start()));
    const reads: number[] = [];
    while (holder.exitCode === null) {
      const asked = performance.now();
      await bench.storage.runs.get(before.run_id);
      await bench.storage.sessions.search({ limit: 10, offset: 0 });
      reads.push(performance.now() - asked);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await left;
    const waited = performance.now() - started;
    delays.disable();
    const stall = delays.max / 1e6;
    const runs = [before, ...(await early), ...(await under)];
    const ends = await Promise.all(runs.map(({ run_id }) => bench.runs.wait(run_id, never)));
    process.stdout.write(
      `lock of ${waited.toFixed(0)} ms, ${runs.length} runs: longest stall ${stall.toFixed(1)} ms (target 50; ` +
        `without a lock ${usual.toFixed(1)} ms), slowest read ${Math.max(...reads).toFixed(1)} ms\n`,
    );
    expect(ends.map(({ status, error }) => ({ status, error }))).toEqual(
      runs.map(() => ({ status: "success", error: null })),
    );
    expect(bench.counts.tools).toBe(2 * (runs.length + warm.length));
    // Who waits for a lock within SQLite waits as long as it is held; then there would be one round of reads or two.
    expect(reads.length).toBeGreaterThan(held / 250);
  });
});
