import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { createPostgresStorage } from "@millrace/engine/storage/postgres/storage";
import { startPostgres, withClient } from "../../support/processes/postgres.ts";
import type { Section } from "../figures.ts";
import { burst, createThreads, post, waitRun, type RunBody } from "./load.ts";
import { startMillrace } from "./servers.ts";

/** How much is measured: parts, the runs of each, and for how many seconds events are kept. */
export interface GrowthAmounts {
  parts: number;
  runs: number;
  kept: number;
}

const noop: RunBody = { assistant: "noop", input: { value: "x" } };
const chat: RunBody = { assistant: "chat", input: { messages: [{ role: "user", content: "words:5" }] } };
const [clients, runsOfThread] = [32, 13];
/** Runs for which the database is compared with its rows: before, files of a few pages are most of it. */
const compared = 100_000;

/**
 * How large a database on PostgreSQL is beside the rows in it, after runs whose threads are deleted by half and whose events
 * are kept for a while. In each part the server is started again, as an upgrade does, and sweeps.
 */
export async function measureGrowth(modelUrl: string, { parts, runs, kept }: GrowthAmounts): Promise<Section> {
  const title = "A database on PostgreSQL after many runs";
  const postgres = await startPostgres({ isLasting: true });
  if (postgres?.own === undefined) {
    await postgres?.stop();
    return { title: `${title}: not installed`, figures: [] };
  }
  try {
    const [empty, database] = [await postgres.create(), await postgres.create()];
    await (await createPostgresStorage(empty)).close();
    const environment = { MILLRACE_EVENT_RETENTION_HOURS: String(kept / 3_600) };
    const during = async (work: (url: string) => Promise<unknown>): Promise<void> => {
      const server = await startMillrace(modelUrl, { database, environment });
      try {
        await work(server.url);
      } finally {
        await server.stop();
      }
    };
    const before = performance.now();
    for (let part = 0; part < parts; part += 1) await during(async (url) => await playPart(url, runs));
    const seconds = (performance.now() - before) / 1_000;
    // What the last part wrote is swept at the second start, and vacuumed in the minute after it.
    for (let start = 0; start < 2; start += 1) await during(async () => await delay(kept * 1_100));
    const beyond = async (): Promise<number> => (await megabytes(database)) - (await megabytes(empty));
    const [size, tables] = [await beyond(), await largest(database)];
    for (const url of [empty, database]) await withClient(url, async (client) => await client.query("VACUUM FULL"));
    const rows = await beyond();
    const isCompared = parts * runs >= compared;
    return {
      title,
      figures: [
        { measure: `${parts * runs} runs`, value: (parts * runs) / seconds, unit: "runs/s" },
        { measure: "the database beyond an empty one", value: size, unit: "MB", note: tables },
        { measure: "the same with both written anew (VACUUM FULL)", value: rows, unit: "MB" },
        { measure: "as many times as its rows", value: size / rows, unit: "x", ...(isCompared ? { max: 1.5 } : {}) },
      ],
    };
  } finally {
    await postgres.stop();
  }
}

/** A third of the runs without a thread, a third with a model call; then every second thread is deleted. */
async function playPart(url: string, runs: number): Promise<void> {
  // A thread takes one run at a time.
  const threads = await createThreads(url, Math.max(3 * clients, Math.ceil((2 * runs) / 3 / runsOfThread)));
  await burst({ total: runs, concurrency: clients, cpu: () => 0 }, async (index) => {
    if (index % 3 === 0) return await post(`${url}/runs/wait`, { assistant_id: noop.assistant, input: noop.input });
    return await waitRun(url, threads[index % threads.length] ?? "", index % 3 === 1 ? chat : noop);
  });
  const deleted = threads.filter((_, index) => index % 2 === 0);
  await post(`${url}/threads/prune`, { thread_ids: deleted, strategy: "delete" });
}

async function megabytes(database: string): Promise<number> {
  const sql = "SELECT pg_database_size(current_database())::float8 / 1048576 AS mb";
  return await withClient(
    database,
    async (client) => z.object({ mb: z.number() }).parse((await client.query(sql)).rows[0]).mb,
  );
}

/** The five largest tables with their indexes. */
async function largest(database: string): Promise<string> {
  const sql = `SELECT string_agg(format('%s %s MB', relname, round(size / 1048576.0, 1)), ', ' ORDER BY size DESC) AS said
    FROM (SELECT relname, pg_total_relation_size(relid) AS size FROM pg_stat_user_tables ORDER BY size DESC LIMIT 5) AS t`;
  return await withClient(
    database,
    async (client) => z.object({ said: z.string() }).parse((await client.query(sql)).rows[0]).said,
  );
}
