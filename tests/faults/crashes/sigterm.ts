import { setTimeout as delay } from "node:timers/promises";
import { Aftermath, shapeNames } from "../harness/aftermath.ts";
import { atMost, noneOf, type Figure, type Random, type Scenario } from "../harness/scenario.ts";
import { answer } from "../harness/script.ts";
import { beginSubject, type Subject } from "../harness/subject.ts";
import { call, openWorld, type World } from "../harness/world.ts";

const runsEach = 20;
const longestExit = 30_000;

/** SIGTERM under twenty runs: nothing is lost, the exit is orderly, and the next start goes on (reliability R7). */
export const sigterm: Scenario = {
  name: "sigterm",
  async run({ long, random, say }) {
    const count = long ? 100 : 5;
    const exits: Exit[] = [];
    const taken: string[] = [];
    // So short that many runs are still at work when it is over, and have to be resumed.
    const world = await openWorld(answer, { environment: { MILLRACE_DRAIN_SECONDS: "0.3" } });
    try {
      const aftermath = new Aftermath(world);
      for (let round = 0; round < count; round += 1) {
        const hit = await prepare(world, round);
        await delay(random.below(400));
        const { exit, refusal } = await terminate(world, random);
        exits.push(exit);
        if (refusal !== undefined) taken.push(`round ${round}: ${refusal}`);
        await world.server.start();
        await aftermath.recover(hit);
        if ((round + 1) % 10 === 0) say(`${round + 1} of ${count} SIGTERMs`);
      }
      return [...(await aftermath.figures(`${count} SIGTERMs`)), ...exitFigures(exits, taken)];
    } finally {
      await world.close();
    }
  },
};

function prepare(world: World, round: number): Promise<Subject[]> {
  return Promise.all(
    Array.from({ length: runsEach }, (_, index) =>
      beginSubject(world, shapeNames[(round + index) % shapeNames.length] ?? "single", `t${round}n${index}`),
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
  // A refused connection is right, too: the server may no longer listen.
  const refusal = await tryToStart(world).catch(() => undefined);
  const end = await ending;
  const problem = end?.code === 0 ? undefined : `code ${end?.code}, signal ${end?.signal}`;
  return { exit: { milliseconds: performance.now() - started, problem }, refusal };
}

/** What is wrong with a stopping server's response to a request for a new run; nothing when it is 503. */
async function tryToStart({ server }: World): Promise<string | undefined> {
  const { status, body } = await call(server, "POST", "/threads", {});
  if (status >= 300) return undefined;
  const thread = String(Reflect.get(Object(body), "thread_id"));
  const { status: answered } = await call(server, "POST", `/threads/${thread}/runs`, { assistant_id: "one" });
  return answered === 503 ? undefined : `a run that came while the server stopped was answered with ${answered}`;
}

function exitFigures(exits: readonly Exit[], taken: readonly string[]): Figure[] {
  const times = exits.map(({ milliseconds }) => milliseconds);
  const late = times.filter((milliseconds) => milliseconds > longestExit);
  return [
    noneOf(
      "exits with another code than 0",
      exits.flatMap(({ problem }) => problem ?? []),
      exits.length,
    ),
    noneOf(
      "exits later than 30 s",
      late.map((milliseconds) => `${milliseconds} ms`),
      exits.length,
    ),
    noneOf("runs taken while the server stopped", taken, exits.length),
    atMost("slowest exit", Math.round(Math.max(...times)), longestExit, "ms"),
  ];
}
