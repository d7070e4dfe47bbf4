import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { noEvents } from "@millrace/engine/storage/attempt-store";
import { createPostgresStorage } from "@millrace/engine/storage/postgres/storage";
import { createSqliteStorage } from "@millrace/engine/storage/sqlite/storage";
import type { Storage } from "@millrace/engine/storage/storage";
import { skipIdleTracing } from "@millrace/engine/tracing";
import { runRecord, sessionRecord } from "../../contract/records.ts";
import { startPostgres, withClient } from "../../support/processes/postgres.ts";
import type { Figure, Section } from "../figures.ts";
import { countdown, toolSteps } from "../graphs/steps.ts";
import { burst, createThreads, percentile, waitRun, type RunBody } from "./load.ts";
import { cpuOfFamily, startMillrace, type ServerUnderTest } from "./servers.ts";

const noop: RunBody = { assistant: "noop", input: { value: "x" } };
const agent: RunBody = {
  assistant: "agent",
  input: { messages: [{ role: "user", content: "What is the value of the answer?" }] },
  context: { mode: "free_work" },
};
/** Milliseconds after which PostgreSQL has published what its processes have counted. */
const statisticsDelay = 2_000;
/** Milliseconds for which the statements of a server that does nothing are counted. */
const idleMs = 3_000;
/**
 * Rounds of supersteps on SQLite and on PostgreSQL in turns; medians count, also of their quotients, since a machine that is
 * faster for some seconds changes both.
 */
const stepRounds = 9;

/** How much is measured. */
export interface PostgresAmounts {
  runs: number;
  steps: number;
  long: { steps: number };
  /** Clients at once, rounds of them, and runs of a round: one of 100 lasts half a second, in which code is compiled. */
  clients: number;
  rounds: number;
  burst: number;
  /** Runs of each kind whose round trips are counted. */
  counted: number;
}

/** A server over PostgreSQL and one over SQLite, in turns; PostgreSQL runs on the same machine and waits for its disk. */
export async function measurePostgres(modelUrl: string, amounts: PostgresAmounts): Promise<Section> {
  const title = "PostgreSQL beside SQLite";
  const postgres = await startPostgres({ isLasting: true });
  const pid = postgres?.own?.pid();
  if (postgres === undefined || pid === undefined) return { title: `${title}: not installed`, figures: [] };
  try {
    const database = await postgres.create();
    const servers = [await startMillrace(modelUrl), await startMillrace(modelUrl, { database })] as const;
    try {
      const figures = [
        ...(await latencies(...servers, amounts.runs, () => cpuOfFamily(pid))),
        ...(await rates(...servers, amounts)),
        ...(await roundTrips(servers[1], amounts.counted)),
        await updates(database),
        ...(await connections(database)),
      ];
      return { title, figures: [...figures, ...(await supersteps(await postgres.create(), amounts))] };
    } finally {
      for (const server of servers) await server.stop();
    }
  } finally {
    await postgres.stop();
  }
}

/** No-op runs by one client, one here and one there. */
async function latencies(
  sqlite: ServerUnderTest,
  other: ServerUnderTest,
  runs: number,
  databaseCpu: () => number,
): Promise<Figure[]> {
  const taken: Record<"sqlite" | "other", number[]> = { sqlite: [], other: [] };
  const cpu = { sqlite: 0, other: 0, database: 0 };
  // A server is as fast as it will be after 1,400 runs: before, a third of the difference is code that is compiled.
  const warm = 15 * runs;
  const [ofSqlite, ofOther] = [
    await createThreads(sqlite.url, runs + warm),
    await createThreads(other.url, runs + warm),
  ];
  for (let index = 0; index < runs + warm; index += 1) {
    if (index === warm) {
      Object.assign(taken, { sqlite: [], other: [] });
      Object.assign(cpu, { sqlite: -sqlite.cpuMs(), other: -other.cpuMs(), database: -databaseCpu() });
    }
    taken.sqlite.push(await timed(() => waitRun(sqlite.url, ofSqlite[index] ?? "", noop)));
    taken.other.push(await timed(() => waitRun(other.url, ofOther[index] ?? "", noop)));
  }
  const [before, after] = [percentile(taken.sqlite, 50), percentile(taken.other, 50)];
  const perRun = (name: keyof typeof cpu, now: number): number => (cpu[name] + now) / runs;
  return [
    { measure: "no-op run on SQLite, p50", value: before, unit: "ms" },
    { measure: "no-op run on PostgreSQL, p50", value: after, unit: "ms", max: 12 },
    { measure: "what it takes longer", value: after - before, unit: "ms", max: 3 },
    { measure: "no-op run on PostgreSQL, p99", value: percentile(taken.other, 99), unit: "ms" },
    { measure: "CPU of the server on SQLite, a run", value: perRun("sqlite", sqlite.cpuMs()), unit: "ms" },
    { measure: "CPU of the server on PostgreSQL, a run", value: perRun("other", other.cpuMs()), unit: "ms" },
    { measure: "CPU of PostgreSQL, a run", value: perRun("database", databaseCpu()), unit: "ms" },
  ];
}

/** No-op runs by many clients, in a few rounds here and there. */
async function rates(
  sqlite: ServerUnderTest,
  other: ServerUnderTest,
  { burst: total, clients, rounds }: PostgresAmounts,
): Promise<Figure[]> {
  const rate = async (server: ServerUnderTest): Promise<number> => {
    const threads = await createThreads(server.url, total);
    const work = (index: number): Promise<unknown> => waitRun(server.url, threads[index] ?? "", noop);
    return (await burst({ total, concurrency: clients, cpu: () => 0 }, work)).runsPerSecond;
  };
  const found: { sqlite: number; other: number }[] = [];
  for (let round = 0; round < rounds; round += 1) found.push({ sqlite: await rate(sqlite), other: await rate(other) });
  const median = (of: (round: (typeof found)[number]) => number): number => percentile(found.map(of), 50);
  return [
    { measure: `${clients} clients on SQLite`, value: median((round) => round.sqlite), unit: "runs/s" },
    { measure: `${clients} clients on PostgreSQL`, value: median((round) => round.other), unit: "runs/s" },
    { measure: "of SQLite's rate", value: 100 * median((round) => round.other / round.sqlite), unit: "%", min: 70 },
  ];
}

/** Statements that a server has sent to PostgreSQL, each of which is a round trip, as its metrics count them. */
async function statements(url: string): Promise<number> {
  const metrics = await (await fetch(`${url}/metrics`)).text();
  return z.coerce.number().parse(/^millrace_database_commit_seconds_count\S* (\S+)$/mu.exec(metrics)?.[1]);
}

/** Round trips of a run, without those of a server that does nothing. */
async function roundTrips({ url }: ServerUnderTest, count: number): Promise<Figure[]> {
  const during = async (work: () => Promise<unknown>): Promise<{ sent: number; ms: number }> => {
    const before = await statements(url);
    const ms = await timed(work);
    return { sent: (await statements(url)) - before, ms };
  };
  const idle = await during(() => delay(idleMs));
  const perRun = async (body: RunBody): Promise<number> => {
    const threads = await createThreads(url, count);
    const { sent, ms } = await during(async () => {
      for (const thread of threads) await waitRun(url, thread, body);
    });
    return (sent - (idle.sent / idle.ms) * ms) / count;
  };
  return [
    { measure: "round trips of a no-op run", value: await perRun(noop), unit: "", max: 10 },
    { measure: "round trips of an agent that calls five tools", value: await perRun(agent), unit: "", max: 90 },
  ];
}

const Updates = z.object({ updates: z.number(), hot: z.number() });

async function updates(database: string): Promise<Figure> {
  await delay(statisticsDelay);
  const sql = `SELECT n_tup_upd::float8 AS updates, n_tup_hot_upd::float8 AS hot
    FROM pg_stat_user_tables WHERE relname = 'runs'`;
  const row = await withClient(database, async (client) => (await client.query(sql)).rows[0]);
  const { updates: all, hot } = Updates.parse(row);
  return { measure: "updates of runs that touch no index", value: (100 * hot) / all, unit: "%", min: 90 };
}

async function connections(database: string): Promise<Figure[]> {
  const sql = `SELECT count(*)::int AS count FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()`;
  const row = await withClient(database, async (client) => (await client.query(sql)).rows[0]);
  const { count } = z.object({ count: z.number() }).parse(row);
  return [{ measure: "connections of a server", value: count, unit: "", max: 10 }];
}

/** Steps in this process, and how large the database is after them. */
async function supersteps(database: string, { steps, long }: PostgresAmounts): Promise<Figure[]> {
  // As a server does.
  skipIdleTracing();
  const sqlite = createSqliteStorage(":memory:");
  const storage = await createPostgresStorage(database);
  const size = "SELECT pg_database_size(current_database())::float8 / 1048576 AS mb";
  const megabytes = async (): Promise<number> =>
    await withClient(
      database,
      async (client) => z.object({ mb: z.number() }).parse((await client.query(size)).rows[0]).mb,
    );
  try {
    const inTurns = async (graph: typeof countdown | typeof toolSteps, count: number) => {
      const rounds: { before: number; after: number; times: number }[] = [];
      for (let round = 0; round < stepRounds; round += 1) {
        const [before, after] = [await perStep(sqlite, graph, count), await perStep(storage, graph, count)];
        rounds.push({ before, after, times: after / before });
      }
      const median = (of: "before" | "after" | "times") =>
        percentile(
          rounds.map((round) => round[of]),
          50,
        );
      return { before: median("before"), after: median("after"), times: median("times") };
    };
    const cheap = await inTurns(countdown, steps);
    const tool = await inTurns(toolSteps, long.steps);
    const before = await megabytes();
    await perStep(storage, toolSteps, long.steps);
    return [
      { measure: "a superstep of a no-op node on SQLite", value: cheap.before, unit: "ms" },
      { measure: "the same on PostgreSQL", value: cheap.after, unit: "ms" },
      { measure: "against SQLite", value: cheap.times, unit: "x", max: 2.5 },
      { measure: "a step with a result of 2 KB on SQLite", value: tool.before, unit: "ms" },
      { measure: "the same on PostgreSQL", value: tool.after, unit: "ms" },
      { measure: "against SQLite, with 2 KB", value: tool.times, unit: "x", max: 2.2 },
      {
        measure: `what ${long.steps} such steps add to the database`,
        value: (await megabytes()) - before,
        unit: "MB",
        max: 3,
      },
    ];
  } finally {
    await storage.close();
    await sqlite.close();
  }
}

/** Milliseconds of a superstep of a run, each on its checkpoint; two supersteps are one step with a tool. */
async function perStep(storage: Storage, graph: typeof countdown | typeof toolSteps, steps: number): Promise<number> {
  const walk = async (left: number): Promise<void> => {
    const [session_id, run_id] = [crypto.randomUUID(), crypto.randomUUID()];
    await storage.sessions.create(sessionRecord(session_id));
    await storage.runs.admit(runRecord(run_id, session_id), { hasRoom: true });
    const checkpointer = storage.attempt({ session_id, run_id, attempt: 1 }).checkpointer(noEvents);
    const compiled = graph.compile({ checkpointer });
    const configurable = { thread_id: session_id, run_id };
    await compiled.invoke({ left }, { configurable, recursionLimit: 2 * left + 10, durability: "sync" });
  };
  await walk(Math.min(50, steps));
  return (await timed(() => walk(steps))) / steps / (graph === toolSteps ? 2 : 1);
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}
