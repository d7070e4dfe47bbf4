import { writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { startPostgres, withClient } from "../../support/processes/postgres.ts";
import { noneOf, type Figure, type Random, type Scenario } from "../harness/scenario.ts";
import { SteadyLoad } from "../harness/steady-load.ts";
import { settled } from "../harness/subject.ts";
import { ask, listRuns, startRun, type World } from "../harness/world.ts";
import { Cluster } from "./cluster.ts";
import { Walks } from "./walks.ts";

const hour = 3_600_000;
/** What the servers' clocks are wrong by when they start, in milliseconds. */
const atStart = [hour, 0, -hour];
/** The machine's own is set to so much more, or less, while they work. */
const settings = [-hour, 0, hour];
const hook = join(import.meta.dirname, "../harness/hooks/clock-hook.ts");
/** A lease that a busy machine does not lose: each run that is taken over counts. */
const lease = 30;

/** Three servers over one PostgreSQL whose clocks are an hour apart, and are set an hour ahead and back while they work. */
export const clocks: Scenario = {
  name: "clocks",
  async run({ long, random, say }) {
    const jumps = Number(process.env["JUMPS"] ?? (long ? 200 : 6));
    const postgres = await startPostgres();
    if (postgres === undefined) {
      return [{ what: "clocks that were set", measured: "skipped: there is no PostgreSQL", target: "0", holds: true }];
    }
    const folder = await mkdtemp(join(tmpdir(), "millrace-clocks-"));
    try {
      return await hit(await postgres.create(), { folder, jumps, random, say });
    } finally {
      await postgres.stop();
      await rm(folder, { recursive: true, force: true });
    }
  },
};

interface Hits {
  folder: string;
  jumps: number;
  random: Random;
  say: (text: string) => void;
}

async function hit(database: string, { folder, jumps, random, say }: Hits): Promise<Figure[]> {
  const fileOf = (index: number): string => join(folder, `clock-${index}`);
  for (const [index, wrong] of atStart.entries()) writeFileSync(fileOf(index), String(wrong));
  const environmentOf = (index: number): Record<string, string> => ({ CLOCK_FILE: fileOf(index) });
  const nodeArguments = ["--import", hook];
  const cluster = await Cluster.open(database, {
    servers: atStart.length,
    lease,
    random,
    environmentOf,
    nodeArguments,
  });
  const over = new AbortController();
  try {
    const load = new SteadyLoad(cluster.at, random, 100);
    const walks = new Walks(cluster.at);
    const ordered = new Ordered(cluster.at);
    const working = Promise.all([
      ...Array.from({ length: 2 }, () => load.work(over.signal)),
      ...Array.from({ length: 3 }, () => walks.work(over.signal)),
      ordered.work(over.signal),
    ]);
    const setting = (async () => {
      for (let done = 0; done < jumps; done += 1) {
        await delay(500 + random.below(2_000));
        const index = random.below(atStart.length);
        writeFileSync(fileOf(index), String(random.pick(settings)));
        process.kill(cluster.world.servers[index]?.pid ?? 0, "SIGUSR2");
        if ((done + 1) % 20 === 0) say(`${done + 1} of ${jumps} clocks set`);
      }
    })();
    await Promise.race([setting, working]);
    over.abort();
    await working;
    return [
      ...(await load.figures()),
      ...walks.figures(),
      ...(await ordered.figures()),
      ...(await storedFigures(database, jumps)),
    ];
  } finally {
    over.abort();
    await cluster.close();
  }
}

const Threads = z.array(z.looseObject({ thread_id: z.string() }));
const pageSize = 500;

/** Threads that come one after the other, each with runs that are sent to any server and queue. */
class Ordered {
  readonly #at: () => World;
  /** In the order in which they were made, each with its runs. */
  readonly #made: { threadId: string; runs: string[] }[] = [];
  readonly #unended: string[] = [];

  constructor(at: () => World) {
    this.#at = at;
  }

  async work(over: AbortSignal): Promise<void> {
    while (!over.aborted) {
      const made = await ask(this.#at().server, "POST", "/threads", { metadata: { is_ordered: true } });
      const threadId = z.looseObject({ thread_id: z.string() }).parse(made).thread_id;
      const runs: string[] = [];
      this.#made.push({ threadId, runs });
      for (let count = 0; count < 4; count += 1) {
        const input = { item: threadId, steps: 2, pause: 20 };
        const body = { assistant_id: "walker", input, multitask_strategy: "enqueue" };
        runs.push((await startRun(this.#at().server, threadId, body)).run_id);
      }
      const end = await settled(this.#at, { threadId, runId: runs.at(-1) ?? "" }, 60_000);
      if (end?.status !== "success") this.#unended.push(`${threadId}: ${end?.status ?? "not over"}`);
    }
  }

  async figures(): Promise<Figure[]> {
    const made = this.#made.map(({ threadId }) => threadId);
    const disordered: string[] = [];
    for (const { threadId, runs } of this.#made) {
      const listed = (await listRuns(this.#at().server, threadId)).map(({ run_id }) => run_id);
      if (listed.toReversed().join(" ") !== runs.join(" ")) disordered.push(threadId);
    }
    return [
      noneOf("queued runs not at their right end", this.#unended, made.length),
      noneOf(
        "threads out of order by their dates of creation",
        await this.#outOfOrder(made, "created_at"),
        made.length,
      ),
      noneOf("threads out of order by their dates of change", await this.#outOfOrder(made, "updated_at"), made.length),
      noneOf("threads whose runs are listed out of order", disordered, made.length),
    ];
  }

  /** The threads that are listed before one which was made earlier. */
  async #outOfOrder(made: string[], sort_by: string): Promise<string[]> {
    const listed: string[] = [];
    for (let page: string[] | undefined; page === undefined || page.length === pageSize;) {
      const search = {
        metadata: { is_ordered: true },
        sort_by,
        sort_order: "asc",
        limit: pageSize,
        offset: listed.length,
      };
      page = Threads.parse(await ask(this.#at().server, "POST", "/threads/search", search)).map((one) => one.thread_id);
      listed.push(...page);
    }
    const places = listed.map((threadId) => made.indexOf(threadId));
    return listed.filter((_, at) => at > 0 && (places[at] ?? 0) < (places[at - 1] ?? 0));
  }
}

const Stored = z.object({
  taken: z.number(),
  servers: z.number(),
  begun: z.number(),
  late: z.number(),
  runs: z.number(),
});

/** By its own clock the database knows what was taken over, and in which order runs began. */
async function storedFigures(database: string, jumps: number): Promise<Figure[]> {
  const sql = `SELECT
    (SELECT count(*)::int FROM runs) AS runs,
    (SELECT count(*)::int FROM runs WHERE attempt > 1 OR crashes > 0) AS taken,
    (SELECT max(id)::int FROM servers) AS servers,
    (SELECT count(*)::int FROM (
      SELECT id, lag(id) OVER (PARTITION BY session ORDER BY started_at, id) AS former FROM runs) AS r WHERE former > id) AS begun,
    (SELECT count(*)::int FROM runs WHERE abs(extract(epoch FROM now() - updated_at::timestamptz)) > 3000) AS late`;
  const row = await withClient(database, async (client) => (await client.query(sql)).rows[0]);
  const { runs, taken, servers, begun, late } = Stored.parse(row);
  const none = (what: string, count: number, of: number): Figure => ({
    what,
    measured: `${count} of ${of}`,
    target: "0",
    holds: count === 0,
  });
  return [
    none(`runs taken over early, with ${jumps} clocks set`, taken, runs),
    none("servers that took themselves for gone", servers - atStart.length, atStart.length),
    none("runs that began before one that came earlier", begun, runs),
    none("runs whose dates are an hour off", late, runs),
  ];
}
