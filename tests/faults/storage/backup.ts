import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { projectFolder } from "../../support/source-files.ts";
import { readDatabase } from "../harness/database.ts";
import { noneOf, type Scenario } from "../harness/scenario.ts";
import { answer, lastWords, type Shape } from "../harness/script.ts";
import { beginSubject, settled, type Subject } from "../harness/subject.ts";
import { openWorld, readMessages, textOf, type World } from "../harness/world.ts";
import { programEnvironment } from "../../support/processes/program.ts";

const runsAtOnce = 20;
/** Milliseconds between two runs of one worker: with none the machine is measured, and a round takes half a minute. */
const pause = 1000;
const shapesUsed: Shape[] = ["single", "long", "parallel", "streaming"];

/** Backups while runs write: each restores, is sound, and the runs that it caught in the middle go on (reliability R10). */
export const backup: Scenario = {
  name: "backup",
  async run({ long, say }) {
    const count = long ? 50 : 5;
    const problems: string[] = [];
    let resumed = 0;
    const stop = new AbortController();
    const world = await openWorld(answer);
    let working: Promise<PromiseSettledResult<string[]>[]> | undefined;
    try {
      const copy = await openWorld(answer);
      try {
        const subjects: Subject[] = [];
        const workers = Array.from({ length: runsAtOnce }, (_, index) =>
          keepWorking(world, { index, subjects, signal: stop.signal }),
        );
        working = Promise.allSettled(workers);
        for (let round = 0; round < count; round += 1) {
          const { problem, unfinished } = await backUpAndRestore(world, copy, subjects);
          if (problem !== undefined) problems.push(`backup ${round}: ${problem}`);
          resumed += unfinished;
          if (round % 10 === 9) say(`${round + 1} backups`);
        }
        stop.abort();
        for (const worked of await working) {
          problems.push(...(worked.status === "fulfilled" ? worked.value : [String(worked.reason)]));
        }
      } finally {
        stop.abort();
        // What a backup failed with must not be lost to a worker whose server is gone.
        await working;
        await copy.close();
      }
    } finally {
      await world.close();
    }
    return [
      noneOf("backups that did not restore, were not sound or whose runs did not go on", problems, count),
      {
        what: "runs that a backup caught in the middle, and that went on in the copy",
        measured: `${resumed}`,
        target: "> 0",
        holds: resumed > 0,
      },
    ];
  },
};

interface Work {
  index: number;
  /** Everything that was accepted so far; added to. */
  subjects: Subject[];
  signal: AbortSignal;
}

/** One run after the other until the signal; what went wrong with them. */
async function keepWorking(world: World, { index, subjects, signal }: Work): Promise<string[]> {
  const problems: string[] = [];
  for (let turn = 0; !signal.aborted; turn += 1) {
    const shape = shapesUsed[(index + turn) % shapesUsed.length] ?? "single";
    const subject = await beginSubject(world, shape, `w${index}t${turn}`);
    subjects.push(subject);
    const end = await settled(world, subject, 60_000);
    if (end?.status !== "success") problems.push(`${subject.item} ended with ${end?.status} in the server itself`);
    await delay(pause);
  }
  return problems;
}

/** Backs up by command, restores that as the data of `copy`, verifies it and lets the copy's server take it up. */
async function backUpAndRestore(
  world: World,
  copy: World,
  subjects: readonly Subject[],
): Promise<{ problem?: string; unfinished: number }> {
  const file = join(world.folder, "saved.db");
  rmSync(file, { force: true });
  // What was accepted before the backup began has to be in it; the oldest were looked at in former rounds.
  const accepted = subjects.slice(-2 * runsAtOnce);
  await copy.server.kill();
  const data = dirname(copy.server.databaseFile);
  const steps = [
    { folder: dirname(world.server.databaseFile), parameters: ["backup", file] },
    { folder: data, parameters: ["restore", file] },
    { folder: data, parameters: ["verify"] },
  ];
  for (const { folder, parameters } of steps) {
    const problem = await maintain(folder, parameters);
    if (problem !== undefined) return { problem, unfinished: 0 };
  }
  // What the copy had before is kept beside it, once for each round.
  for (const name of readdirSync(data)) if (name.includes(".before-")) rmSync(join(data, name));
  const { unfinishedRuns, isSound } = readDatabase(copy.server.databaseFile);
  if (!isSound) return { problem: "SQLite finds it damaged", unfinished: unfinishedRuns };
  await copy.server.start();
  const problems = (await Promise.all(accepted.map((subject) => judgeCopied(copy, subject)))).flat();
  const [problem] = problems;
  return { unfinished: unfinishedRuns, ...(problem === undefined ? {} : { problem }) };
}

async function judgeCopied(copy: World, subject: Subject): Promise<string[]> {
  const end = await settled(copy, subject, 30_000);
  if (end?.status !== "success") return [`${subject.item} ended with ${end?.status} in the copy`];
  const last = (await readMessages(copy.server, subject.threadId)).at(-1);
  if (last !== undefined && textOf(last) === lastWords(subject.shape, subject.item)) return [];
  return [`${subject.item} has ${last?.type} as its last message in the copy`];
}

/** A command of maintenance on the data in `folder`; what it complained of. */
async function maintain(folder: string, parameters: readonly string[]): Promise<string | undefined> {
  const child = spawn(process.execPath, [join(projectFolder, "bin/millrace.cjs"), ...parameters], {
    env: { ...programEnvironment, MILLRACE_DATA_DIR: folder },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const ended = once(child, "close");
  let problems = "";
  for await (const piece of child.stderr) problems += String(piece);
  const [code] = await ended;
  return code === 0 ? undefined : `${parameters[0]} ended with ${String(code)}: ${problems.slice(0, 300)}`;
}
