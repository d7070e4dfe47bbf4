import { setTimeout as delay } from "node:timers/promises";
import { readDatabase } from "./database.ts";
import { readEffects } from "./effect-log.ts";
import { atMost, noneOf, type Figure, type Random, type Scenario } from "./scenario.ts";
import { answer, shapes, type Shape } from "./script.ts";
import { approveSubject, beginSubject, judge, noFindings, settled, type Findings, type Subject } from "./subject.ts";
import { call, openWorld, type World } from "./world.ts";

const runsEach = 20;
const longestExit = 30_000;
const patience = 10_000;
// Every entry of the record is a shape.
const names = Object.keys(shapes) as Shape[];

/** SIGTERM under twenty runs: nothing is lost, the exit is orderly, and the next start goes on (reliability R7). */
export const sigterm: Scenario = {
  name: "sigterm",
  async run({ long, random, say }) {
    const count = long ? 100 : 5;
    const findings = noFindings();
    const subjects: Subject[] = [];
    const exits: { milliseconds: number; problem: string | undefined }[] = [];
    const recoveries: number[] = [];
    const taken: string[] = [];
    // So short that many runs are still at work when it is over, and have to be resumed.
    const world = await openWorld(answer, { environment: { MILLRACE_DRAIN_SECONDS: "0.3" } });
    try {
      for (let round = 0; round < count; round += 1) {
        const hit = await prepare(world, round);
        await delay(random.below(400));
        const { exit, refusal } = await terminate(world, random);
        exits.push(exit);
        if (refusal !== undefined) taken.push(`round ${round}: ${refusal}`);
        await world.server.start();
        recoveries.push(await recovered(world, hit, findings));
        subjects.push(...hit);
        if ((round + 1) % 10 === 0) say(`${round + 1} of ${count} SIGTERMs`);
      }
      const effects = readEffects(world.effectsFile);
      for (const subject of subjects) await judge(world, subject, effects, findings);
      return await figures(world, { count, subjects, findings, exits, recoveries, taken });
    } finally {
      await world.close();
    }
  },
};

function prepare(world: World, round: number): Promise<Subject[]> {
  return Promise.all(
    Array.from({ length: runsEach }, (_, index) =>
      beginSubject(world, names[(round + index) % names.length] ?? "single", `t${round}n${index}`),
    ),
  );
}

interface Exit {
  milliseconds: number;
  problem: string | undefined;
}

/** Sends the signal, tries to start a run while the server drains, and waits for the exit. */
async function terminate(world: World, random: Random): Promise<{ exit: Exit; refusal: string | undefined }> {
  const { server } = world;
  const started = performance.now();
  const ending = server.end("SIGTERM");
  await delay(50 + random.below(50));
  // Once the server has closed its door nobody is let in, which is right too.
  const refusal = await tryToStart(world).catch(() => undefined);
  const end = await ending;
  const problem = end?.code === 0 ? undefined : `code ${end?.code}, signal ${end?.signal}`;
  return { exit: { milliseconds: performance.now() - started, problem }, refusal };
}

/** What is wrong with how a stopping server answers somebody who wants a new run; nothing when it says 503. */
async function tryToStart({ server }: World): Promise<string | undefined> {
  const { status, body } = await call(server, "POST", "/threads", {});
  if (status >= 300) return undefined;
  const thread = String(Reflect.get(Object(body), "thread_id"));
  const { status: answered } = await call(server, "POST", `/threads/${thread}/runs`, { assistant_id: "one" });
  return answered === 503 ? undefined : `a run that came while the server stopped was answered with ${answered}`;
}

async function recovered(world: World, hit: readonly Subject[], findings: Findings): Promise<number> {
  const start = performance.now();
  await Promise.all(
    hit.map(async (subject) => {
      const end = await settled(world, subject, patience);
      if (end === undefined) findings.unended.push(`${subject.item} was not over after ${patience} ms`);
      else if (end.status === "missing") findings.lost.push(`${subject.item}: its run is gone`);
      else if (end.status !== "success") findings.unended.push(`${subject.item} ended with ${end.status}`);
      if (end?.waiting === true) {
        await approveSubject(world, subject);
        await settled(world, subject, patience);
      }
    }),
  );
  return performance.now() - start;
}

interface Outcome {
  count: number;
  subjects: Subject[];
  findings: Findings;
  exits: Exit[];
  recoveries: number[];
  taken: string[];
}

async function figures(world: World, outcome: Outcome): Promise<Figure[]> {
  const { count, subjects, findings, exits, recoveries, taken } = outcome;
  await world.server.stop();
  const database = readDatabase(world.server.databaseFile);
  const badExits = exits.flatMap(({ problem }) => problem ?? []);
  const late = exits.filter(({ milliseconds }) => milliseconds > longestExit);
  return [
    noneOf(`accepted messages lost in ${count} SIGTERMs`, findings.lost, subjects.length),
    noneOf("exits with another code than 0", badExits, count),
    noneOf(
      "exits later than 30 s",
      late.map(({ milliseconds }) => `${milliseconds} ms`),
      count,
    ),
    noneOf("runs taken while the server stopped", taken, count),
    noneOf("runs not at their right end within 10 s of the restart", findings.unended, subjects.length),
    noneOf("duplicate unsafe effects", findings.duplicates, subjects.length),
    noneOf("ambiguous outcomes not reported", findings.unreported, findings.unknown),
    {
      what: "runs that were hit at work and taken up again",
      measured: `${database.resumedRuns}`,
      target: "> 0",
      holds: database.resumedRuns > 0,
    },
    {
      what: "unfinished runs in the database, and its integrity",
      measured: `${database.unfinishedRuns}, ${database.isSound ? "sound" : "damaged"}`,
      target: "0, sound",
      holds: database.unfinishedRuns === 0 && database.isSound,
    },
    atMost("slowest exit", Math.round(Math.max(...exits.map(({ milliseconds }) => milliseconds))), longestExit, "ms"),
    atMost("slowest recovery", Math.round(Math.max(...recoveries)), patience, "ms"),
  ];
}
