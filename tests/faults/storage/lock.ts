import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { projectFolder } from "../../support/source-files.ts";
import { atMost, noneOf, quantile, type Figure, type Scenario } from "../harness/scenario.ts";
import { readEffects } from "../harness/effect-log.ts";
import { answer } from "../harness/script.ts";
import { beginSubject } from "../harness/subject.ts";
import { readMeasurement } from "../harness/measurement.ts";
import { ask, call, getRun, openWorld, type World } from "../harness/world.ts";

/** Runs that are begun before the fault, and as many in the middle of it. */
const runsAtOnce = 20;
/** Milliseconds between the beginnings of two runs; users do not send in the same millisecond. */
const beginEvery = 40;
/** Milliseconds between two questions for health. */
const askEvery = 10;

/** Another program holds the write lock: the server neither stands still nor fails a run (reliability D1). */
export const lock: Scenario = {
  name: "lock",
  async run({ long }) {
    const held = long ? 8000 : 2000;
    const hook = join(projectFolder, "tests/faults/harness/hooks/stall-hook.ts");
    const world = await openWorld(answer, { nodeArguments: ["--import", hook] });
    try {
      const problems: string[] = [];
      // What runs for the first time is compiled; that is not the lock's doing.
      await underLoad(world, "warm", () => Promise.resolve(), problems);
      const usual = await underLoad(world, "usual", () => delay(held), problems);
      const locked = await underLoad(world, "locked", () => holdLock(world, held), problems);
      const effects = readEffects(world.effectsFile);
      const [runs, wrong] = [3 * 2 * runsAtOnce, [...effects].filter(([, { done }]) => done !== 1)];
      return [
        noneOf(`runs that failed around a lock of ${held / 1000} s`, problems, runs),
        noneOf(
          "effects that are missing or came twice",
          effects.size === runs ? wrong.map(([name, { done }]) => `${name}: ${done}`) : [`${effects.size} calls`],
          runs,
        ),
        {
          what: "questions for health and reads of the database under the lock",
          measured: `${locked.health.length}`,
          target: `> ${held / 250}`,
          // Who waits for a lock within SQLite waits as long as it is held; then there would be one round or two.
          holds: locked.health.length > held / 250,
        },
        plain("longest stall of the event loop without a lock", usual.stall),
        atMost("longest stall of the event loop under the lock", locked.stall, 50, "ms"),
        plain("p99 of /ok without a lock", quantile(usual.health, 0.99)),
        atMost(
          `p99 of /ok under the lock (${locked.health.length} questions)`,
          quantile(locked.health, 0.99),
          50,
          "ms",
        ),
      ];
    } finally {
      await world.close();
    }
  },
};

/** A figure that only says what this machine costs without the fault. */
function plain(what: string, value: number): Figure {
  return { what, measured: `${value.toFixed(2)} ms`, target: "for comparison", holds: true };
}

interface Load {
  /** The longest stall of the server's event loop, milliseconds. */
  stall: number;
  /** How long each question for health took, milliseconds. */
  health: number[];
}

/** Begins runs, lets `fault` happen, begins as many in the middle of it, and waits for all ends. */
async function underLoad(world: World, name: string, fault: () => Promise<void>, problems: string[]): Promise<Load> {
  const work = async (index: number): Promise<void> => {
    await delay((index % runsAtOnce) * beginEvery);
    // Runs of 750 ms are in the middle of their tool when the lock comes, short ones begin and end with it.
    const subject = await beginSubject(world, index % 2 === 0 ? "long" : "single", `${name}${index}`);
    // One request that waits: questions every few milliseconds by forty clients would be what is measured.
    await call(world.server, "GET", `/threads/${subject.threadId}/runs/${subject.runId}/join`);
    const end = await getRun(world.server, subject.threadId, subject.runId);
    if (end?.status !== "success") problems.push(`${subject.item} ended with ${end?.status}`);
  };
  const begin = (first: number): Promise<void>[] =>
    Array.from({ length: runsAtOnce }, (_, index) => work(first + index));
  await readMeasurement(world);
  const over = new AbortController();
  const asking = askHealth(world, over.signal);
  const early = begin(0);
  await delay((runsAtOnce * beginEvery) / 2);
  const happening = fault();
  await delay(runsAtOnce * beginEvery);
  const late = begin(runsAtOnce);
  await happening;
  await Promise.all([...early, ...late]);
  over.abort();
  const health = await asking;
  return { stall: (await readMeasurement(world)) / 1000, health };
}

async function askHealth({ server }: World, over: AbortSignal): Promise<number[]> {
  const took: number[] = [];
  while (!over.aborted) {
    const asked = performance.now();
    const { status } = await call(server, "GET", "/ok");
    if (status !== 200) throw new Error(`/ok was answered with ${status}.`);
    took.push(performance.now() - asked);
    await ask(server, "POST", "/threads/search", { limit: 10 });
    await delay(askEvery);
  }
  return took;
}

/** Another process takes the lock and keeps it so long. */
async function holdLock({ server }: World, milliseconds: number): Promise<void> {
  const file = join(projectFolder, "tests/faults/storage/lock-holder.ts");
  const holder = spawn(process.execPath, [file, server.databaseFile, String(milliseconds)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [code] = await once(holder, "exit");
  if (code !== 0) throw new Error(`The lock's holder ended with ${code}.`);
}
