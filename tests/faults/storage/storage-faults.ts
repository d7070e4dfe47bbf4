import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Faults, openFaulty } from "./faulty-database.ts";
import { noneOf, type Scenario } from "../harness/scenario.ts";
import { openStorageBench } from "./storage-bench.ts";
import { sweepBusy, sweepFaults, reportedCodes } from "./storage-sweep.ts";

/** Every write from the k-th on fails, for each error and each k: the run fails, the service does not (reliability D2). */
export const storageFaults: Scenario = {
  name: "faults",
  async run({ long, say }) {
    // A run has about forty writes.
    const points = Array.from({ length: long ? 200 : 40 }, (_, index) => index + 1);
    const problems: string[] = [];
    const failedByBusy: string[] = [];
    // The engine's own timers do not keep a process alive; here no server listens that would.
    const alive = setInterval(() => undefined, 60_000);
    let count = 0;
    try {
      // The keys of the table are what the sweep takes.
      for (const sqlite of Object.keys(reportedCodes) as (keyof typeof reportedCodes)[]) {
        const folder = await mkdtemp(join(tmpdir(), "millrace-storage-faults-"));
        const faults = new Faults();
        const bench = openStorageBench(join(folder, "m.db"), openFaulty(faults));
        try {
          const outcome = await sweepFaults({ bench, faults, sqlite, points });
          say(
            `${sqlite}: ${outcome.failed} runs failed, ${outcome.refused} refused, ${outcome.done} done by a new try`,
          );
          problems.push(...outcome.problems);
          if (outcome.failed + outcome.refused === 0) problems.push(`${sqlite}: no run met it`);
          count += points.length;
          if (sqlite === "SQLITE_FULL") failedByBusy.push(...(await sweepBusy(bench, faults, points)));
        } finally {
          faults.lift();
          await bench.close();
          await rm(folder, { recursive: true, force: true });
        }
      }
    } finally {
      clearInterval(alive);
    }
    return [
      noneOf("storage faults untyped, with more than one model call, a tool, no reads or no recovery", problems, count),
      noneOf("runs that a busy database failed, from the k-th write on", failedByBusy, points.length),
    ];
  },
};
