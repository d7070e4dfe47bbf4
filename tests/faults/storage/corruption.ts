import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { damages } from "../../storage/sqlite/damages.ts";
import { noneOf, type Random, type Scenario } from "../harness/scenario.ts";
import { answer } from "../harness/script.ts";
import { beginSubject, settled } from "../harness/subject.ts";
import { call, openWorld, type Answer, type World } from "../harness/world.ts";

const threads = 3;
const turns = 4;

/** The server started on damaged files: it refuses by name or shows all that was there, never less (reliability D3). */
export const corruption: Scenario = {
  name: "corruption",
  async run({ long, random, say }) {
    const kinds = Object.keys(damages);
    // In the short form each kind of damage once to each original.
    const count = long ? 200 : 2 * kinds.length;
    const world = await openWorld(answer);
    try {
      const bench = await prepare(world);
      const outcomes = { refused: 0, partly: 0, whole: 0 };
      const silent: string[] = [];
      for (let index = 0; index < count; index += 1) {
        const kind = kinds[index % kinds.length] ?? "";
        const original = Math.floor(index / kinds.length) % 2 === 0 ? bench.killed : bench.closed;
        const { outcome, how, different } = await startDamaged(world, bench, { kind, original, random });
        if (outcome === "silent") silent.push(`${kind}, ${how}: ${different}`);
        else outcomes[outcome] += 1;
        if (index % 50 === 49) say(`${index + 1} files`);
      }
      // A sound folder of an earlier time is no damage, so it is served, and the judge must see that turns are missing.
      const control = await startOn(world, bench, dirname(bench.other));
      say(
        `${outcomes.refused} starts refused, ${outcomes.partly} damaged threads refused, ${outcomes.whole} read whole`,
      );
      return [
        noneOf("damaged files that were served with an empty, shorter or other history", silent, count),
        noneOf("controls that the judge let pass", control.outcome === "silent" ? [] : [control.outcome], 1),
      ];
    } finally {
      await world.close();
    }
  },
};

interface Bench {
  /** The data folder of a server that was stopped, and of one that was killed. */
  closed: string;
  killed: string;
  /** An older database of the same server. */
  other: string;
  /** Every question of the judge, with its right answer. */
  content: Map<string, string>;
}

/** Fills a database and keeps it in two ways. */
async function prepare(world: World): Promise<Bench> {
  const { server, folder } = world;
  const data = dirname(server.databaseFile);
  const keep = (name: string): string => {
    const place = join(folder, name);
    mkdirSync(place);
    // The lock and the shared memory belong to the process.
    for (const file of readdirSync(data)) {
      if (!file.endsWith(".lock") && !file.endsWith("-shm")) cpSync(join(data, file), join(place, file));
    }
    return place;
  };
  const subjects = [];
  for (let thread = 0; thread < threads; thread += 1)
    subjects.push(await beginSubject(world, "single", `first${thread}`));
  for (const subject of subjects) await settled(world, subject, 30_000);
  await server.stop();
  const other = join(keep("older"), "millrace.db");
  await server.start();
  for (let turn = 1; turn < turns; turn += 1) {
    for (const { threadId } of subjects) {
      await call(server, "POST", `/threads/${threadId}/runs/wait`, {
        assistant_id: "one",
        input: { messages: [{ role: "user", content: `please do single turn${turn}${threadId.slice(0, 8)}` }] },
      });
    }
  }
  const paths = subjects.flatMap(({ threadId }) => [
    `/threads/${threadId}`,
    `/threads/${threadId}/state`,
    `/threads/${threadId}/history?limit=100`,
    `/threads/${threadId}/runs?limit=100`,
  ]);
  const content = new Map<string, string>();
  for (const path of paths) content.set(path, JSON.stringify((await call(server, "GET", path)).body));
  await server.kill();
  const killed = keep("killed");
  await server.start();
  await server.stop();
  return { closed: keep("closed"), killed, other, content };
}

interface Damage {
  kind: string;
  original: string;
  random: Random;
}

interface Verdict {
  outcome: "refused" | "partly" | "whole" | "silent";
  how: string;
  different?: string;
}

/** A server that refuses says in words for people that the database is damaged. */
function isRefusal({ status, body }: Answer): boolean {
  return status === 500 && JSON.stringify(body).includes("database") && JSON.stringify(body).includes("damaged");
}

/** Starts the server on a damaged copy and asks it for everything. */
function startDamaged(world: World, bench: Bench, { kind, original, random }: Damage): Promise<Verdict> {
  const below = (limit: number): number => random.below(limit);
  return startOn(
    world,
    bench,
    original,
    (databaseFile) => damages[kind]?.(databaseFile, { random: below, other: bench.other }) ?? "",
  );
}

/** Starts the server on a copy of a data folder, after something was done to it, and asks it for everything. */
async function startOn(
  world: World,
  bench: Bench,
  folder: string,
  damage: (databaseFile: string) => string = () => "untouched",
): Promise<Verdict> {
  const { server } = world;
  const data = dirname(server.databaseFile);
  rmSync(data, { recursive: true, force: true });
  cpSync(folder, data, { recursive: true });
  const how = damage(server.databaseFile);
  const logged = readFileSync(server.logFile).length;
  try {
    await server.start();
  } catch {
    const log = readFileSync(server.logFile).subarray(logged).toString();
    const isTyped = log.includes(`database ${server.databaseFile}`);
    return { outcome: isTyped ? "refused" : "silent", how, different: `it ended without a word: ${log.slice(0, 300)}` };
  }
  try {
    let refused = 0;
    for (const [path, right] of bench.content) {
      const answered = await call(server, "GET", path);
      if (isRefusal(answered)) refused += 1;
      else if (JSON.stringify(answered.body) !== right) {
        const text = JSON.stringify(answered.body)?.slice(0, 200);
        return { outcome: "silent", how, different: `${path} was answered with ${answered.status}: ${text}` };
      }
    }
    return { outcome: refused > 0 ? "partly" : "whole", how };
  } finally {
    await server.kill();
  }
}
