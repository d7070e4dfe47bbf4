import { setTimeout as delay } from "node:timers/promises";
import { readDatabase } from "./database.ts";
import { readEffects } from "./effect-log.ts";
import { atMost, noneOf, type Figure, type Random, type Scenario } from "./scenario.ts";
import { answer, shapes, usualTime, type Shape } from "./script.ts";
import { approveSubject, beginSubject, judge, noFindings, settled, type Findings, type Subject } from "./subject.ts";
import { openWorld, type World } from "./world.ts";

const patience = 10_000;
// Every entry of the record is a shape.
const names = Object.keys(shapes) as Shape[];

/** `kill -9` right after an acceptance and at random points of eight graph shapes (reliability R1, R3, R4). */
export const kills: Scenario = {
  name: "kills",
  async run({ long, random, say }) {
    const count = long ? 150 : 24;
    const findings = noFindings();
    const subjects: Subject[] = [];
    const slowest: number[] = [];
    const world = await openWorld(answer);
    try {
      for (let kill = 0; kill < count; kill += 1) {
        const shape = names[kill % names.length] ?? "single";
        const other = random.pick(names);
        const hit = [
          await prepare(world, shape, `k${kill}a`, random),
          await prepare(world, other, `k${kill}b`, random),
        ];
        // Every third is killed within 20 ms of its acceptance.
        await delay(random.below(kill % 3 === 0 ? 20 : usualTime[shape]));
        await world.server.kill();
        await world.server.start();
        slowest.push(await recovered(world, hit, findings));
        subjects.push(...hit);
        if ((kill + 1) % 10 === 0) say(`${kill + 1} of ${count} kills`);
      }
      const effects = readEffects(world.effectsFile);
      for (const subject of subjects) await judge(world, subject, effects, findings);
      return await figures(world, { count, subjects, findings, slowest });
    } finally {
      await world.close();
    }
  },
};

/** A run at its beginning or, of those that ask, sometimes one that has just been answered. */
async function prepare(world: World, shape: Shape, item: string, random: Random): Promise<Subject> {
  const subject = await beginSubject(world, shape, item);
  if (shape === "approval" && random.below(2) === 0) {
    await settled(world, subject, patience);
    await approveSubject(world, subject);
  }
  return subject;
}

/** Waits until the runs are over or wait for an answer, which is then given. Milliseconds of the slowest. */
async function recovered(world: World, hit: readonly Subject[], findings: Findings): Promise<number> {
  const start = performance.now();
  for (const subject of hit) {
    const end = await settled(world, subject, patience - (performance.now() - start));
    if (end === undefined) findings.unended.push(`${subject.item} was not over after ${patience} ms`);
    else if (end.status === "missing") findings.lost.push(`${subject.item}: its run is gone`);
    else if (end.status !== "success") findings.unended.push(`${subject.item} ended with ${end.status}`);
  }
  const took = performance.now() - start;
  for (const subject of hit) {
    const end = await settled(world, subject, patience);
    if (end?.waiting !== true) continue;
    await approveSubject(world, subject);
    await settled(world, subject, patience);
  }
  return took;
}

interface Outcome {
  count: number;
  subjects: Subject[];
  findings: Findings;
  slowest: number[];
}

async function figures(world: World, { count, subjects, findings, slowest }: Outcome): Promise<Figure[]> {
  await world.server.stop();
  const database = readDatabase(world.server.databaseFile);
  const hidden = Math.max(0, database.ambiguousCalls - findings.unknown);
  return [
    noneOf(`accepted messages lost in ${count} kills`, findings.lost, subjects.length),
    noneOf("duplicate unsafe effects", findings.duplicates, subjects.length),
    noneOf("runs not at their right end or waiting within 10 s", findings.unended, subjects.length),
    noneOf("ambiguous outcomes not reported", findings.unreported, findings.unknown),
    {
      what: "ambiguous calls in the database that nobody was told of",
      measured: `${hidden} of ${database.ambiguousCalls}`,
      target: "0",
      holds: hidden === 0,
    },
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
    noneOf("histories a strict provider refused", world.model.unexpected, subjects.length),
    atMost("slowest recovery after the server was ready", Math.round(Math.max(...slowest)), patience, "ms"),
  ];
}
