import { renewLease } from "@millrace/engine/storage/postgres/servers/lease-statements";
import { createPostgresStorage } from "@millrace/engine/storage/postgres/storage";
import pg from "pg";
import { z } from "zod";
import { startPostgres, withClient } from "../../support/processes/postgres.ts";
import type { Figure, Section } from "../figures.ts";
import { burst, createThreads, percentile, streamRun, waitRun, type RunBody } from "./load.ts";
import { cpuOfFamily, startMillrace, type ServerUnderTest } from "./servers.ts";

/** How much is measured: runs of each kind, beats beside each number of servers, and notices to each number of listeners. */
export interface CostAmounts {
  runs: number;
  beats: { servers: number[]; count: number };
  notices: { listeners: number[]; count: number };
}

const noop: RunBody = { assistant: "noop", input: { value: "x" } };
const chat: RunBody = { assistant: "chat", input: { messages: [{ role: "user", content: "words:5" }] } };
const agent = (words: string): RunBody => ({
  assistant: "agent",
  input: { messages: [{ role: "user", content: `Write the parts, with different calls. ${words}` }] },
  context: { mode: "free_work" },
});
/** Five tool calls, two of which write, and an answer at once; the same with an answer that takes its time, a word in 50 ms. */
const [spokenMs, wordMs] = [2_000, 50];
const [waited, spoken] = [agent(""), agent(`words:${spokenMs / wordMs} pace:${wordMs}`)];
/** Streamed runs at once, and unfinished runs of a server. */
const [atOnce, unfinished] = [4, 120];

/** What `../capacity` calculates with: what runs cost a server and PostgreSQL, and what servers cost that are only there. */
export async function measureCosts(modelUrl: string, amounts: CostAmounts): Promise<Section> {
  const title = "What a database and its servers spend";
  const postgres = await startPostgres({ isLasting: true });
  const pid = postgres?.own?.pid();
  if (postgres === undefined || pid === undefined) return { title: `${title}: not installed`, figures: [] };
  const cpu = (): number => cpuOfFamily(pid);
  try {
    return {
      title,
      figures: [
        ...(await runs(modelUrl, await postgres.create(), { count: amounts.runs, databaseCpu: cpu })),
        ...(await beats(await postgres.create(), amounts.beats, cpu)),
        ...(await notices(await postgres.create(), amounts.notices, cpu)),
        ...(await commits(await postgres.create(), amounts.beats.count)),
      ],
    };
  } finally {
    await postgres.stop();
  }
}

const Counted = z.object({ commits: z.number(), bytes: z.number(), syncs: z.number() });
const countersOf = `SELECT (SELECT sum(xact_commit + xact_rollback)::float8 FROM pg_stat_database) AS commits,
  wal_bytes::float8 AS bytes, wal_sync::float8 AS syncs FROM pg_stat_wal`;

/** Runs at a server that is alone, and at one beside another. */
async function runs(modelUrl: string, database: string, counts: Counts): Promise<Figure[]> {
  const servers: ServerUnderTest[] = [];
  const figures: Figure[] = [];
  const measure = async (what: string, body: RunBody): Promise<void> => {
    const [first] = servers;
    if (first !== undefined) figures.push(...(await costOf(what, body, { ...counts, server: first, database })));
  };
  try {
    servers.push(await startMillrace(modelUrl, { database }));
    // First what takes long: in its first seconds a server reads the types of its graphs.
    await measure("an agent's run, one server", waited);
    await measure(`the same, streamed, ${spokenMs / 1_000} s of words`, spoken);
    await measure("a run of one model call", chat);
    await measure("a run that does nothing", noop);
    servers.push(await startMillrace(modelUrl, { database }));
    await measure("an agent's run beside another server", waited);
    await measure("a run that does nothing beside another server", noop);
    return figures;
  } finally {
    for (const server of servers) await server.stop();
  }
}

interface Counts {
  count: number;
  databaseCpu: () => number;
}

/** What one of many runs of a kind costs. */
async function costOf(
  what: string,
  body: RunBody,
  { count, databaseCpu, server, database }: Counts & { server: ServerUnderTest; database: string },
): Promise<Figure[]> {
  const counters = (): Promise<z.infer<typeof Counted>> =>
    withClient(database, async (client) => {
      // What processes have counted is there after a while.
      await client.query("SELECT pg_sleep(2)");
      return Counted.parse((await client.query(countersOf)).rows[0]);
    });
  const threads = await createThreads(server.url, 2 * count);
  const [run, concurrency] = body === spoken ? [streamRun, atOnce] : [waitRun, 1];
  const work = (index: number): Promise<unknown> => run(server.url, threads[index] ?? "", body);
  // The code of a new server is cold.
  await burst({ total: count, concurrency, cpu: () => 0 }, work);
  const [before, cpuBefore, own] = [await counters(), databaseCpu(), process.cpuUsage()];
  const { cpuMs, p50 } = await burst({ total: count, concurrency, cpu: () => server.cpuMs() }, (index) =>
    work(count + index),
  );
  const { user, system } = process.cpuUsage(own);
  const ofDatabase = (databaseCpu() - cpuBefore) / count;
  const after = await counters();
  const per = (name: keyof typeof before): number => (after[name] - before[name]) / count;
  const notes = [
    `${per("commits").toFixed(1)} transactions`,
    `log ${(per("bytes") / 1_024).toFixed(0)} KB, ${per("syncs").toFixed(1)} times to the disk`,
    `p50 ${p50.toFixed(0)} ms`,
    `this process ${((user + system) / 1_000 / count).toFixed(1)} ms`,
  ];
  return [
    { measure: `${what}: CPU of the server`, value: cpuMs, unit: "ms", note: notes.join("; ") },
    { measure: `${what}: CPU of PostgreSQL`, value: ofDatabase, unit: "ms" },
  ];
}

/** A beat beside more and more servers, each with its unfinished runs. */
async function beats(
  database: string,
  { servers, count }: CostAmounts["beats"],
  databaseCpu: () => number,
): Promise<Figure[]> {
  await (await createPostgresStorage(database)).close();
  return await withClient(database, async (client) => {
    const figures: Figure[] = [];
    // Without the rows of the runs themselves, which a beat does not read.
    await client.query("SET session_replication_role = replica");
    const added = `WITH added AS (INSERT INTO servers (host, process, lease_until)
        SELECT 'bench', 0, now() + interval '1 day' FROM generate_series(1, $1) RETURNING id)
      INSERT INTO open_runs (run, session, status, server)
        SELECT id * 1000 + run, id * 1000 + run, 'running', id FROM added, generate_series(1, ${unfinished}) AS run`;
    let there = 0;
    for (const number of servers) {
      await client.query(added, [number - there]);
      there = number;
      await client.query("VACUUM ANALYZE");
      const first = z
        .object({ id: z.coerce.number() })
        .parse((await client.query("SELECT min(id) AS id FROM servers")).rows[0]);
      const beat = async (): Promise<unknown> =>
        await client.query({ name: "renew", text: renewLease, values: [first.id, 5, ["agent"]] });
      for (let index = 0; index < 10; index += 1) await beat();
      const before = databaseCpu();
      for (let index = 0; index < count; index += 1) await beat();
      const value = (databaseCpu() - before) / count;
      figures.push({
        measure: `a beat, ${number} servers of ${unfinished} runs: CPU of PostgreSQL`,
        value,
        unit: "ms",
      });
    }
    return figures;
  });
}

/** A notice that more and more servers receive, and how many go out in a second. */
async function notices(
  database: string,
  { listeners, count }: CostAmounts["notices"],
  databaseCpu: () => number,
): Promise<Figure[]> {
  const clients: pg.Client[] = [];
  const figures: Figure[] = [];
  const opened = async (): Promise<pg.Client> => {
    const client = new pg.Client(database);
    await client.connect();
    clients.push(client);
    return client;
  };
  const send = async (client: pg.Client): Promise<unknown> =>
    await client.query(
      "SELECT pg_notify('millrace_all', gen_random_uuid()::text), set_config('synchronous_commit', 'off', true)",
    );
  try {
    const senders = await Promise.all(Array.from({ length: 8 }, opened));
    const [sender] = senders;
    let there = 0;
    for (const number of listeners) {
      for (; there < number; there += 1) await (await opened()).query("LISTEN millrace_all");
      const [before, own] = [databaseCpu(), process.cpuUsage()];
      for (let index = 0; sender !== undefined && index < count; index += 1) await send(sender);
      const value = (databaseCpu() - before) / count;
      const { user, system } = process.cpuUsage(own);
      const note = `sent and received here: ${((user + system) / 1_000 / count).toFixed(2)} ms`;
      figures.push({ measure: `a notice received by ${number}: CPU of PostgreSQL`, value, unit: "ms", note });
      if (number !== 1) continue;
      const begun = performance.now();
      await Promise.all(
        senders.map(async (client) => {
          for (let index = 0; index < count; index += 1) await send(client);
        }),
      );
      const rate = (senders.length * count) / ((performance.now() - begun) / 1_000);
      figures.push({ measure: `notices of ${senders.length} senders`, value: rate, unit: "a second" });
    }
    return figures;
  } finally {
    for (const client of clients) await client.end();
  }
}

/** A commit that waits for the disk, and one that does not. */
async function commits(database: string, count: number): Promise<Figure[]> {
  return await withClient(database, async (client) => {
    await client.query("CREATE TABLE counted (value int)");
    await client.query("INSERT INTO counted VALUES (0)");
    const taken = async (waits: "on" | "off"): Promise<number> => {
      await client.query(`SET synchronous_commit = ${waits}`);
      const times: number[] = [];
      for (let index = 0; index < count; index += 1) {
        const begun = performance.now();
        await client.query("UPDATE counted SET value = value + 1");
        times.push(performance.now() - begun);
      }
      return percentile(times, 50);
    };
    const [without, waits] = [await taken("off"), await taken("on")];
    return [{ measure: "what a commit takes longer that waits for the disk, p50", value: waits - without, unit: "ms" }];
  });
}
