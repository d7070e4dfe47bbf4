import { statfs } from "node:fs/promises";
import { Hono } from "hono";
import { z } from "zod";
import type { MetricFamily } from "../../../metrics/families.ts";
import { respondJson } from "../../responses/wire.ts";
import { describe } from "../../describe.ts";
import {
  requireAdministration,
  versions,
  type HttpApp,
  type HttpEnvironment,
  type SharedServices,
} from "../../environment.ts";

const ServerShape = z
  .object({
    version: z.string(),
    node: z.string(),
    uptime_seconds: z.number(),
    memory_bytes: z.number().describe("Memory of the machine that the process takes"),
    event_loop_delay_ms: z
      .number()
      .describe("How late the event loop was, all but the slowest 1 %, in the last minute or two; 0 the first time"),
    database: z.object({
      kind: z.enum(["sqlite", "postgres"]),
      bytes: z.record(z.string(), z.number()).describe("By part, such as the write-ahead log; empty where not known"),
    }),
    servers: z
      .object({
        id: z.number().int(),
        working: z.number().int(),
        problem: z.string().nullable(),
        workspace: z.string().nullable().describe("The same at all servers that share the folder; null without an id"),
      })
      .nullable()
      .describe("This one's number, and how many work on the database; `problem`: why it may not. Null with SQLite"),
    disk: z
      .object({ free_bytes: z.number(), total_bytes: z.number() })
      .nullable()
      .describe("Where the data folder lies; null where the system does not say"),
    runs: z.object({
      running: z.number().int(),
      waiting: z.number().int(),
      oldest_waiting_seconds: z.number(),
      slots: z.number().int().describe("Runs that may work at once"),
      queue_limit: z.number().int(),
    }),
    graphs: z.object({
      served: z.array(z.string()),
      not_served: z.array(z.object({ graph_id: z.string(), message: z.string() })),
    }),
    problems: z.array(z.string()).describe("What keeps the server from taking runs; empty where nothing does"),
  })
  .meta({ ref: "Server" });

/** `/server`: how the process, its database and its queue are, for administrators. */
export function serverRoutes({ config, graphs, health, metrics, cluster }: SharedServices): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  routes.get(
    "/server",
    describe({
      tag: "Meta",
      summary: "How the server is: memory, database, disk, queue, and graphs that are not served",
      answer: ServerShape,
      errors: { 403: "The caller does not administer the server" },
    }),
    async (context) => {
      requireAdministration(context);
      const [families, disk, problems] = await Promise.all([
        metrics.families(),
        diskOf(config.dataDir),
        health.reasons(),
      ]);
      const numbers = numbersIn(families);
      const answer: z.infer<typeof ServerShape> = {
        version: versions.millrace,
        node: process.version,
        uptime_seconds: Math.round(process.uptime()),
        memory_bytes: process.memoryUsage.rss(),
        event_loop_delay_ms: 1_000 * (numbers("millrace_event_loop_delay_seconds")["0.99"] ?? 0),
        database: {
          kind: config.database === undefined ? "sqlite" : "postgres",
          bytes: numbers("millrace_database_bytes"),
        },
        servers:
          config.database === undefined
            ? null
            : {
                id: cluster.id,
                working: cluster.serverCount,
                problem: cluster.problem ?? null,
                workspace: cluster.workspace ?? null,
              },
        disk,
        runs: {
          running: numbers("millrace_runs")["running"] ?? 0,
          waiting: numbers("millrace_runs")["waiting"] ?? 0,
          oldest_waiting_seconds: numbers("millrace_queue_oldest_seconds")[""] ?? 0,
          slots: config.maxConcurrentRuns,
          queue_limit: config.queueLimit,
        },
        graphs: {
          served: graphs.ids().toSorted(),
          not_served: graphs.problems.map(({ graph_id, message }) => ({ graph_id, message })),
        },
        problems: [...problems],
      };
      return respondJson(context, answer);
    },
  );
  return routes;
}

/** The values of a metric by its only label. */
function numbersIn(families: readonly MetricFamily[]): (name: string) => Record<string, number> {
  return (name) => {
    const family = families.find((one) => one.name === name);
    const values = family === undefined || family.type === "histogram" ? [] : family.values;
    return Object.fromEntries(values.map(({ labels = {}, value }) => [Object.values(labels)[0] ?? "", value]));
  };
}

/** Room on the disk of a folder. Some file systems do not say. */
async function diskOf(folder: string): Promise<z.infer<typeof ServerShape>["disk"]> {
  try {
    const { bavail, blocks, bsize } = await statfs(folder);
    return { free_bytes: bavail * bsize, total_bytes: blocks * bsize };
  } catch {
    return null;
  }
}
