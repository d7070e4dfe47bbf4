import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { startPostgres, withClient } from "../../support/processes/postgres.ts";
import { atMost, noneOf, quantile, type Figure, type Random, type Scenario } from "../harness/scenario.ts";
import { patiently, SteadyLoad } from "../harness/steady-load.ts";
import { settled } from "../harness/subject.ts";
import { startRun } from "../harness/world.ts";
import { Cluster } from "./cluster.ts";
import { countWrites, watchWrites } from "./fence-watch.ts";
import { Walks } from "./walks.ts";

/** Seconds that a server may be silent before others go on with its runs. */
const lease = 5;
/** Milliseconds from a kill to the next step elsewhere. */
const longestTakeOver = 7_000;
const leastOfControl = 1;

/** Three servers over one PostgreSQL, killed and frozen at random under runs that are sent to any of them. */
export const servers: Scenario = {
  name: "servers",
  async run({ long, random, say }) {
    const kills = Number(process.env["KILLS"] ?? (long ? 1_000 : 5));
    const freezes = Math.ceil(kills / 5) + (long ? 0 : 1);
    const postgres = await startPostgres();
    if (postgres === undefined) {
      return [{ what: "servers that died", measured: "skipped: there is no PostgreSQL", target: "0", holds: true }];
    }
    try {
      const figures = await hit(await postgres.create(), { kills, freezes, random, say });
      return [...figures, await control(await postgres.create(), random)];
    } finally {
      await postgres.stop();
    }
  },
};

interface Hits {
  kills: number;
  freezes: number;
  random: Random;
  say: (text: string) => void;
}

async function hit(database: string, { kills, freezes, random, say }: Hits): Promise<Figure[]> {
  await watchWrites(database);
  const cluster = await Cluster.open(database, { servers: 3, lease, random });
  const over = new AbortController();
  try {
    const load = new SteadyLoad(cluster.at, random, 100);
    const walks = new Walks(cluster.at);
    const working = Promise.all([
      ...Array.from({ length: 3 }, () => load.work(over.signal)),
      ...Array.from({ length: 6 }, () => walks.work(over.signal)),
    ]);
    const all = kills + freezes;
    // A failure of the load ends the rest at once.
    const hitting = (async () => {
      for (let done = 0; done < all; done += 1) {
        await delay(500 + random.below(1_500));
        const isFreeze = Math.floor(((done + 1) * freezes) / all) > Math.floor((done * freezes) / all);
        if (isFreeze) await cluster.freeze(1_000 * lease + 500 + random.below(2_000), true);
        // Some are back at once, before their lease is over.
        else await cluster.kill(kills <= 10 ? done % 3 !== 1 : done % 4 === 0);
        if ((done + 1) % 20 === 0) {
          const times = Object.values(cluster.takeOvers).flat();
          say(`${done + 1} of ${all} kills and freezes, go on elsewhere after ${quantile(times, 0.99)} ms at p99`);
        }
      }
    })();
    await Promise.race([hitting, working]);
    over.abort();
    await working;
    const judged = [...(await load.figures()), ...walks.figures(), ...(await storedFigures(database, load.unknown))];
    const next = await nextMessages(cluster, database);
    const { accepted, stale } = await countWrites(database);
    return [
      ...judged,
      next,
      {
        what: `writes of a former attempt accepted, with ${kills} kills and ${freezes} freezes past the lease`,
        measured: `${stale} of ${accepted}`,
        target: "0 of > 0",
        holds: stale === 0 && accepted > 0,
      },
      ...takeOverFigures(cluster),
    ];
  } finally {
    over.abort();
    await cluster.close();
  }
}

const Hit = z.object({ threadId: z.string(), graph: z.enum(["one", "nested", "retrying", "agent", "walker"]) });

/** Every session that was taken over takes one more message and answers it. */
async function nextMessages(cluster: Cluster, database: string): Promise<Figure> {
  const sql = `SELECT DISTINCT session_id AS "threadId", graph_id AS graph
    FROM runs JOIN sessions ON sessions.id = runs.session WHERE attempt > 1`;
  const left = z.array(Hit).parse(await withClient(database, async (client) => (await client.query(sql)).rows));
  const count = left.length;
  const problems: string[] = [];
  const worker = async (): Promise<void> => {
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      const { threadId, graph } = next;
      const words = `please do streaming next${left.length}`;
      const input = graph === "walker" ? { steps: 0 } : { messages: [{ role: "user", content: words }] };
      const { run_id: runId } = await startRun(cluster.pick(), threadId, { assistant_id: graph, input });
      const end = await settled(cluster.at, { threadId, runId }, 30_000, 50);
      if (end?.status !== "success") problems.push(`${threadId}: the next run ended as ${end?.status}`);
    }
  };
  await Promise.all(Array.from({ length: 4 }, worker));
  return noneOf("sessions that were taken over and do not answer the next message", problems, count);
}

const Stored = z.object({ unfinished: z.number(), ambiguous: z.number(), again: z.number() });

async function storedFigures(database: string, unknown: number): Promise<Figure[]> {
  const sql = `SELECT
    (SELECT count(*)::int FROM runs WHERE status IN ('pending', 'running')) AS unfinished,
    (SELECT count(*)::int FROM tool_calls WHERE state <> 'finished' AND effect IN ('unsafe', 'reconcilable')) AS ambiguous,
    (SELECT count(*)::int FROM runs WHERE attempt > 1) AS again`;
  // A run whose admission got no answer may still be at work.
  const stored = await patiently(async () => {
    const row = Stored.parse(await withClient(database, async (client) => (await client.query(sql)).rows[0]));
    if (row.unfinished > 0) throw new Error(`${row.unfinished} runs are not over.`);
    return row;
  });
  const hidden = Math.max(0, stored.ambiguous - unknown);
  return [
    {
      what: "ambiguous calls in the database that were not reported",
      measured: `${hidden} of ${stored.ambiguous}`,
      target: "0",
      holds: hidden === 0,
    },
    { what: "runs that were taken over", measured: `${stored.again}`, target: "> 0", holds: stored.again > 0 },
  ];
}

function takeOverFigures({ takeOvers: { kill, freeze } }: Cluster): Figure[] {
  const middle = (times: number[]): string => `${quantile(times, 0.5)} ms at p50 of ${times.length}`;
  return [
    { what: "from a kill to the next step elsewhere", measured: middle(kill), target: "> 0", holds: kill.length > 0 },
    atMost("the same, p99", quantile(kill, 0.99), longestTakeOver, "ms"),
    { what: "from a freeze to the same", measured: middle(freeze), target: "any", holds: true },
    atMost("the same, p99", quantile(freeze, 0.99), longestTakeOver, "ms"),
  ];
}

/** The same watch over servers whose database accepts every write: without violations the watch would see nothing. */
async function control(database: string, random: Random): Promise<Figure> {
  const lease = 2;
  await watchWrites(database, true);
  const cluster = await Cluster.open(database, { servers: 2, lease, random });
  const over = new AbortController();
  try {
    const walks = new Walks(cluster.at, 40);
    const working = Promise.all(Array.from({ length: 6 }, () => walks.work(over.signal).catch(() => undefined)));
    let stale = 0;
    for (let freeze = 0; freeze < 10 && stale < leastOfControl; freeze += 1) {
      await delay(500);
      await cluster.freeze(1_000 * lease + 2_000, false);
      await delay(500);
      ({ stale } = await countWrites(database));
    }
    over.abort();
    await working;
    return {
      what: "writes of a former attempt accepted without the fence, as a control",
      measured: `${stale}`,
      target: `≥ ${leastOfControl}`,
      holds: stale >= leastOfControl,
    };
  } finally {
    over.abort();
    await cluster.close();
  }
}
