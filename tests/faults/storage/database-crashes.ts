import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { startPostgres, withClient, type OwnPostgres } from "../../support/processes/postgres.ts";
import { atMost, quantile, type Figure, type Scenario, type ScenarioContext } from "../harness/scenario.ts";
import { answer } from "../harness/script.ts";
import { patiently, SteadyLoad } from "../harness/steady-load.ts";
import { beginSubject } from "../harness/subject.ts";
import { openWorld, type World } from "../harness/world.ts";

const workers = 6;
/** Milliseconds within which the server works again when PostgreSQL does. */
const longestReturn = 5_000;
const perMinute = 60_000;

/**
 * PostgreSQL crashes every 5 to 10 s, and once a minute one of its processes is killed, under runs of all shapes: commits that
 * no client waited for are gone each time, and the server stays.
 */
export const databaseCrashes: Scenario = { name: "database", run: (context) => crashUnder(1, context) };

/** The same under three servers, each run at any of them: an outage is shorter than their leases. */
export const databaseCrashesUnderServers: Scenario = {
  name: "database_servers",
  run: (context) => crashUnder(3, context),
};

async function crashUnder(servers: number, { long, random, say }: ScenarioContext): Promise<Figure[]> {
  const [minutes, leastRuns] = long ? [Number(process.env["MINUTES"] ?? 10), 1_000] : [1, 50];
  const postgres = await startPostgres({ isLasting: true });
  const own = postgres?.own;
  if (postgres === undefined || own === undefined) {
    return [{ what: "crashes of PostgreSQL", measured: "skipped: it is not installed", target: "0", holds: true }];
  }
  const database = await postgres.create();
  const world = await openWorld(answer, {
    environment: { MILLRACE_DATABASE: database },
    servers,
  });
  const at = (): World => ({ ...world, server: random.pick(world.servers) });
  try {
    const load = new SteadyLoad(at, random);
    const over = new AbortController();
    const working = Promise.all(Array.from({ length: workers }, () => load.work(over.signal)));
    const crashing = new Crashes(at, own, database);
    for (const end = performance.now() + minutes * perMinute; performance.now() < end;) {
      await delay(5_000 + random.below(5_000));
      await crashing.next();
      if (crashing.returns.length % 10 === 0) say(`${crashing.returns.length} crashes, ${load.subjects.length} runs`);
    }
    over.abort();
    await working;
    return [
      ...(await load.figures()),
      {
        what: "runs",
        measured: `${load.subjects.length} under ${crashing.returns.length} crashes, ${crashing.kills} of one process`,
        target: `≥ ${leastRuns}`,
        holds: load.subjects.length >= leastRuns,
      },
      atMost("slowest return after a crash, ms", Math.round(quantile(crashing.returns, 1)), longestReturn, "ms"),
      ...(await storedFigures(database, load.unknown)),
    ];
  } finally {
    await world.close();
    await postgres.stop();
  }
}

class Crashes {
  /** Milliseconds after each crash until a run was taken and came to its end. */
  readonly returns: number[] = [];
  /** How many of them came of one process that was killed. */
  kills = 0;
  readonly #at: () => World;
  readonly #own: OwnPostgres;
  readonly #database: string;
  #lastKill = performance.now() - perMinute / 2;

  constructor(at: () => World, own: OwnPostgres, database: string) {
    this.#at = at;
    this.#own = own;
    this.#database = database;
  }

  async next(): Promise<void> {
    if (performance.now() - this.#lastKill > perMinute) {
      this.#lastKill = performance.now();
      this.kills += 1;
      await killOne(this.#database);
    } else await this.#own.crash();
    const begun = performance.now();
    await patiently(() => beginSubject(this.#at(), "streaming", "return"), 20);
    this.returns.push(performance.now() - begun);
  }
}

/** Kills one process that serves the server; PostgreSQL then ends all others and recovers. Resolves when it has. */
async function killOne(database: string): Promise<void> {
  const sql = "SELECT pid FROM pg_stat_activity WHERE application_name = 'millrace' ORDER BY state_change DESC LIMIT 1";
  const rows = await withClient(database, async (client) => (await client.query(sql)).rows);
  const [found] = z.array(z.object({ pid: z.number() })).parse(rows);
  if (found !== undefined) process.kill(found.pid, "SIGKILL");
  await patiently(() => withClient(database, async (client) => void (await client.query("SELECT 1"))), 20);
}

const Stored = z.object({ unfinished: z.number(), ambiguous: z.number(), crashes: z.number(), again: z.number() });

/** What the database says at the end. `unknown`: calls that were reported as such. */
async function storedFigures(database: string, unknown: number): Promise<Figure[]> {
  const sql = `SELECT
    (SELECT count(*)::int FROM runs WHERE status IN ('pending', 'running')) AS unfinished,
    (SELECT count(*)::int FROM tool_calls WHERE state <> 'finished' AND effect IN ('unsafe', 'reconcilable')) AS ambiguous,
    (SELECT sum(crashes)::int FROM runs) AS crashes,
    (SELECT count(*)::int FROM runs WHERE attempt > 1) AS again`;
  const row = await withClient(database, async (client) => (await client.query(sql)).rows[0]);
  const { unfinished, ambiguous, crashes, again } = Stored.parse(row);
  const hidden = Math.max(0, ambiguous - unknown);
  return [
    { what: "unfinished runs in the database", measured: `${unfinished}`, target: "0", holds: unfinished === 0 },
    {
      what: "ambiguous calls in the database that were not reported",
      measured: `${hidden} of ${ambiguous}`,
      target: "0",
      holds: hidden === 0,
    },
    {
      what: "crashes of the server, and runs that went on from an earlier state",
      measured: `${crashes}, ${again}`,
      target: "0, any",
      holds: crashes === 0,
    },
  ];
}
