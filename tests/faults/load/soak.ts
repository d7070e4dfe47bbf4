import { join } from "node:path";
import { projectFolder } from "../../support/source-files.ts";
import { atMost, noneOf, type Scenario } from "../harness/scenario.ts";
import { answer } from "../harness/script.ts";
import { beginSubject, settled } from "../harness/subject.ts";
import { readMeasurement } from "../harness/measurement.ts";
import { openWorld, type World } from "../harness/world.ts";

const atOnce = 8;

/** Many runs in one process: the heap after a collection does not grow with them (reliability T1). */
export const soak: Scenario = {
  name: "soak",
  async run({ long, say }) {
    if (!long) {
      // Caches fill for longer than the short form lasts: its slope says nothing.
      say("in the long form only");
      return [];
    }
    const count = 2000;
    const every = count / 10;
    const world = await openWorld(answer, {
      nodeArguments: ["--import", join(projectFolder, "tests/faults/harness/hooks/heap-hook.ts")],
    });
    try {
      const samples: { runs: number; bytes: number }[] = [];
      const problems: string[] = [];
      for (let done = 0; done < count; done += every) {
        problems.push(...(await work(world, done, every)));
        samples.push({ runs: done + every, bytes: await readMeasurement(world) });
        say(`${done + every} runs, heap ${((samples.at(-1)?.bytes ?? 0) / 1024 / 1024).toFixed(2)} MB`);
      }
      // Caches have a size; the first third fills them.
      const slope = slopeOf(samples.slice(3)) / 1024;
      const figure = atMost("heap that a run leaves behind, by the slope of the last 7 of 10 samples", slope, 1, "KB");
      return [noneOf("runs that did not end well", problems, count), figure];
    } finally {
      await world.close();
    }
  },
};

/** So many runs of one tool each, a few at once, each on a session of its own. */
async function work(world: World, first: number, count: number): Promise<string[]> {
  const problems: string[] = [];
  let next = first;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < first + count; index = next++) {
      const subject = await beginSubject(world, "single", `soak${index}`);
      const end = await settled(world, subject, 30_000);
      if (end?.status !== "success") problems.push(`run ${index} ended with ${end?.status}`);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return problems;
}

/** Bytes a run, by least squares. */
function slopeOf(samples: readonly { runs: number; bytes: number }[]): number {
  const mean = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const runs = mean(samples.map((sample) => sample.runs));
  const bytes = mean(samples.map((sample) => sample.bytes));
  const covariance = mean(samples.map((sample) => (sample.runs - runs) * (sample.bytes - bytes)));
  return covariance / mean(samples.map((sample) => (sample.runs - runs) ** 2));
}
