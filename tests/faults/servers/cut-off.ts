import { setTimeout as delay } from "node:timers/promises";
import type { ServerProcess } from "../../support/processes/server-process.ts";
import { startPostgres } from "../../support/processes/postgres.ts";
import { atMost, quantile, type Figure, type Random, type Scenario } from "../harness/scenario.ts";
import { patiently, SteadyLoad } from "../harness/steady-load.ts";
import { call } from "../harness/world.ts";
import { Cluster } from "./cluster.ts";
import { type CutKind, cutKinds, CutProxy } from "./cut-proxy.ts";
import { countWrites, watchWrites } from "./fence-watch.ts";
import { Walks } from "./walks.ts";

/** Seconds that a server may be silent before others go on with its runs. */
const lease = 5;
/** Milliseconds from a cut to the next step elsewhere, and from its end until the server is ready again. */
const [longestTakeOver, longestReturn] = [1_000 * (lease + 2), 5_000];

/** Three servers over one PostgreSQL, of which one after the other is cut off from it while clients still reach it. */
export const cutOff: Scenario = {
  name: "cut_off",
  async run({ long, random, say }) {
    const cuts = Number(process.env["CUTS"] ?? (long ? 100 : 3));
    const postgres = await startPostgres();
    const url = await postgres?.create();
    const folder = url === undefined ? null : new URL(url).searchParams.get("host");
    if (postgres === undefined || url === undefined || folder === null) {
      return [
        { what: "servers that were cut off", measured: "skipped: there is no PostgreSQL", target: "0", holds: true },
      ];
    }
    const target = `${folder}/.s.PGSQL.5432`;
    const proxies = await Promise.all(Array.from({ length: 3 }, () => new CutProxy(target).listen()));
    try {
      return await hit(url, proxies, { cuts, milliseconds: long ? 30_000 : 10_000, random, say });
    } finally {
      await Promise.all(proxies.map((proxy) => proxy.close()));
      await postgres.stop();
    }
  },
};

interface Hits {
  cuts: number;
  milliseconds: number;
  random: Random;
  say: (text: string) => void;
}

/** What cuts came to: milliseconds to the next step elsewhere, and until the server was ready again; steps that began too late. */
interface Found {
  takeOvers: number[];
  returns: number[];
  late: number;
}

async function hit(url: string, proxies: CutProxy[], { cuts, milliseconds, random, say }: Hits): Promise<Figure[]> {
  await watchWrites(url);
  const database = new URL(url).pathname.slice(1);
  const environmentOf = (index: number): Record<string, string> => ({
    MILLRACE_DATABASE: proxies[index]?.addressOf(database) ?? url,
  });
  const cluster = await Cluster.open(url, { servers: 3, lease, random, environmentOf });
  const over = new AbortController();
  const found: Found = { takeOvers: [], returns: [], late: 0 };
  try {
    const load = new SteadyLoad(cluster.at, random, 100);
    const walks = new Walks(cluster.at);
    const working = Promise.all([
      ...Array.from({ length: 3 }, () => load.work(over.signal)),
      ...Array.from({ length: 6 }, () => walks.work(over.signal)),
    ]);
    const hitting = (async () => {
      for (let done = 0; done < cuts; done += 1) {
        await delay(2_000 + random.below(1_500));
        const index = random.below(proxies.length);
        const [proxy, server] = [proxies[index], cluster.world.servers[index]];
        if (proxy === undefined || server === undefined) throw new Error("Each server has a proxy.");
        const kind = cutKinds[done % cutKinds.length] ?? "drop";
        await cluster.without(server, () => cut({ cluster, proxy, server, kind, milliseconds }, found));
        if ((done + 1) % 10 === 0) say(`${done + 1} of ${cuts} cuts`);
      }
    })();
    await Promise.race([hitting, working]);
    over.abort();
    await working;
    const judged = [...(await load.figures()), ...walks.figures()];
    const { accepted, stale } = await countWrites(url);
    const middle = (times: number[]): string => `${Math.round(quantile(times, 0.5))} ms at p50 of ${times.length}`;
    return [
      ...judged,
      {
        what: `writes of a former attempt accepted, with ${cuts} cuts of ${milliseconds / 1_000} s`,
        measured: `${stale} of ${accepted}`,
        target: "0 of > 0",
        holds: stale === 0 && accepted > 0,
      },
      {
        what: "steps that began at a server whose lease was over",
        measured: String(found.late),
        target: "0",
        holds: found.late === 0,
      },
      { what: "from a cut to the next step elsewhere", measured: middle(found.takeOvers), target: "any", holds: true },
      atMost("the same, p99", quantile(found.takeOvers, 0.99), longestTakeOver, "ms"),
      { what: "from its end until the server is ready", measured: middle(found.returns), target: "any", holds: true },
      atMost("the same, p99", quantile(found.returns, 0.99), longestReturn, "ms"),
    ];
  } finally {
    over.abort();
    await cluster.close();
  }
}

interface Cut {
  cluster: Cluster;
  proxy: CutProxy;
  server: ServerProcess;
  kind: CutKind;
  milliseconds: number;
}

async function cut({ cluster, proxy, server, kind, milliseconds }: Cut, found: Found): Promise<void> {
  const pid = server.pid ?? 0;
  const at = Date.now();
  proxy.cut(kind);
  const taken = cluster.steps.untilElsewhere(pid, at);
  await delay(milliseconds);
  const healed = Date.now();
  proxy.heal();
  found.late += cluster.steps.begunBetween(pid, at + 1_000 * lease, healed);
  await patiently(async () => {
    const { status } = await call(server, "GET", "/health/ready");
    if (status !== 200) throw new Error("It is not ready.");
  }, 50);
  found.returns.push(Date.now() - healed);
  found.takeOvers.push(...(await taken));
}
