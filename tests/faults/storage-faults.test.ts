import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { never } from "../runs/fixtures.ts";
import { Faults, openFaulty } from "./faulty-database.ts";
import { openStorageBench, type StorageBench } from "./storage-bench.ts";
import { sweepFaults, toldCodes } from "./storage-sweep.ts";

/** Points of the sweep per error; D2 in reliability.md has 200. */
const points = Number(process.env["FAULT_POINTS"] ?? 40);
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

describe.each(Object.entries(toldCodes))("%s from the k-th write on", (name, code) => {
  it(`fails the run as ${code}, starts nothing more and is over when it is lifted (k = 1..${points})`, async () => {
    // The keys of the table are what the sweep takes.
    const sqlite = name as keyof typeof toldCodes;
    const { problems, failed, refused, done } = await sweepFaults({
      bench,
      faults,
      sqlite,
      points: Array.from({ length: points }, (_, index) => index + 1),
    });
    process.stdout.write(
      `${sqlite}: ${points} points, ${failed} failed runs, ${refused} refused, ${done} done after a new try\n`,
    );
    expect(problems).toEqual([]);
    expect(failed + refused).toBeGreaterThan(0);
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
