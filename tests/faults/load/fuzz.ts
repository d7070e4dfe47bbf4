import fc from "fast-check";
import { describedRoutes } from "../../support/requests/described-routes.ts";
import { fuzzRequests, sendFuzz, type FuzzRequest } from "../../support/requests/fuzz-requests.ts";
import { atMost, noneOf, type Scenario } from "../harness/scenario.ts";
import { answer } from "../harness/script.ts";
import { beginSubject, settled } from "../harness/subject.ts";
import { call, openWorld, type World } from "../harness/world.ts";

/** Requests at a time: what one does to the server is felt by the others. */
const atOnce = 4;
/** Milliseconds no request may take. */
const slowest = 2000;
/** Those of the suite's graphs whose runs end by themselves, and one that does not exist. */
const assistants = ["one", "nested", "talker", "retrying", "unknown"];

/** Requests made from the server's own /openapi.json, and broken: none is answered with 5xx or ends it (reliability S5). */
export const fuzz: Scenario = {
  name: "fuzz",
  async run({ long, seed }) {
    const count = long ? 5000 : 500;
    const world = await openWorld(answer);
    const { server } = world;
    try {
      const known = await knownIds(world);
      const described = await describedRoutes({ send: (method, path) => fetch(server.url + path, { method }) });
      const requests = fc.sample(fuzzRequests({ ...described, known, assistants }), { numRuns: count, seed });
      const { pid } = server;
      const { problems, longest, statuses } = await sendAll(world, requests);
      const isAlive = (await call(server, "GET", "/ok")).status === 200 && server.pid === pid;
      const useful = statuses.get(200) ?? 0;
      return [
        noneOf("requests answered with 5xx or not at all", problems, count),
        atMost("the longest took", Math.round(longest), slowest, "ms"),
        noneOf("ends of the server", isAlive ? [] : ["it does not answer any more"], 1),
        {
          what: "requests that meant something (200)",
          measured: `${useful}`,
          target: `> ${count / 10}`,
          holds: useful > count / 10,
        },
      ];
    } finally {
      await world.close();
    }
  },
};

/** Threads with a run each, their runs and their checkpoints. */
async function knownIds(world: World): Promise<string[]> {
  const { client } = world.server;
  const ids: string[] = [];
  for (const item of ["known1", "known2", "known3"]) {
    const subject = await beginSubject(world, "single", item);
    await settled(world, subject, 30_000);
    const { checkpoint } = await client.threads.getState(subject.threadId);
    ids.push(subject.threadId, subject.runId, checkpoint.checkpoint_id ?? "");
  }
  return ids;
}

interface FuzzOutcome {
  problems: string[];
  longest: number;
  statuses: Map<number, number>;
}

async function sendAll({ server }: World, requests: readonly FuzzRequest[]): Promise<FuzzOutcome> {
  const outcome: FuzzOutcome = { problems: [], longest: 0, statuses: new Map() };
  const left = requests[Symbol.iterator]();
  const worker = async (): Promise<void> => {
    for (const request of left) {
      const started = performance.now();
      const name = `${request.route.method} ${request.path}`.slice(0, 200);
      try {
        const { status, text } = await sendFuzz(server.url, request);
        outcome.statuses.set(status, (outcome.statuses.get(status) ?? 0) + 1);
        if (status >= 500) outcome.problems.push(`${name}: ${status} ${text.slice(0, 200)}`);
      } catch (error) {
        outcome.problems.push(`${name}: ${String(error)}`);
      }
      outcome.longest = Math.max(outcome.longest, performance.now() - started);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return outcome;
}
