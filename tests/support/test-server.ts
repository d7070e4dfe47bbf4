import { mkdtemp, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@langchain/langgraph-sdk";
import BetterSqlite from "better-sqlite3";
import { Client as SecondClient } from "langgraph-sdk-2";
import { loadConfig, type Config } from "@millrace/engine/config/config";
import type { Logger } from "@millrace/engine/logger";
import { markerName } from "@millrace/engine/process/mark-workspace";
import { createPostgresStorage } from "@millrace/engine/storage/postgres/storage";
import { createSqliteStorage } from "@millrace/engine/storage/sqlite/storage";
import type { OpenedStorage } from "@millrace/engine/storage/storage";
import { RoundRobin } from "@millrace/testing/round-robin";
import { startServer } from "../../src/server.ts";
import { createDatabase, withClient } from "./processes/postgres.ts";
import { inject } from "vitest";

/** A server on a free port with the graphs of `test-graphs.ts`, and the official client for it. */
export interface TestServer {
  url: string;
  client: Client;
  config: Config;
  /** Stops it; its data stays for `restart`. */
  close(): Promise<void>;
  /** Starts again on the same data, with the same configuration but for the changes. */
  restart(changes?: Partial<Config>): Promise<TestServer>;
  /** Stops it, if it is not yet, and removes its data. */
  remove(): Promise<void>;
  /** Sends a request; an object as body is sent as JSON. */
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>;
}

/** The graphs of `test-graphs.ts` that it serves. */
export const graphNames =
  "counter deep talker speller nestedSpeller counted miscounted asker looping failing gated nested nestedAsker nestedFailing mirror flood keeper toolUser twoDepths touchy broken caller".split(
    " ",
  );

/** Whose classes the graphs are made of: the server's, or other copies of the same in the `node_modules` of their folder. */
export const packagesOfGraphs = ["lent packages", "packages of their own"] as const;

/** Where `test-graphs.ts` is, with either packages. */
function fileOfGraphs(packages: (typeof packagesOfGraphs)[number]): string {
  const name = "test-graphs.ts";
  return packages === "lent packages"
    ? fileURLToPath(new URL(name, import.meta.url))
    : join(inject("ownPackages"), name);
}

/** A database in PostgreSQL where tests are to use that; see `setup/postgres.ts`. */
async function newDatabase(): Promise<string | undefined> {
  const url = inject("postgres");
  return url === undefined ? undefined : await createDatabase(url);
}

/** What a server that was stopped has stored. */
export async function openStorageOf({ dataDir, database }: Config): Promise<OpenedStorage> {
  return database === undefined
    ? createSqliteStorage(join(dataDir, "millrace.db"))
    : await createPostgresStorage(database);
}

/** What is in the workspace of a server, but for the file that marks it where the server is one of many. */
export async function namesInWorkspace({ workspace }: Config): Promise<string[]> {
  return (await readdir(workspace)).filter((name) => name !== markerName).toSorted();
}

/** The rows of a statement that both databases know, of a server that is at work. */
export async function rowsOf({ dataDir, database }: Config, sql: string): Promise<unknown[]> {
  if (database !== undefined) return await withClient(database, async (client) => (await client.query(sql)).rows);
  const file = new BetterSqlite(join(dataDir, "millrace.db"), { readonly: true });
  try {
    return file.prepare(sql).all();
  } finally {
    file.close();
  }
}

/** Starts a server in a folder of its own; it logs nothing unless it is given a logger. */
export async function startTestServer(
  changes: Partial<Config> = {},
  logger?: Logger,
  packages: (typeof packagesOfGraphs)[number] = "lent packages",
): Promise<TestServer> {
  const folder = await mkdtemp(join(tmpdir(), "millrace-"));
  const file = fileOfGraphs(packages);
  const graphs = Object.fromEntries(graphNames.map((name) => [name, `${file}:${name}`]));
  await writeFile(join(folder, "langgraph.json"), JSON.stringify({ graphs }));
  await mkdir(join(folder, "workspace"));
  const config: Config = {
    ...loadConfig({ MILLRACE_MODEL: "offline", MILLRACE_DATA_DIR: join(folder, "data") }),
    port: 0,
    database: await newDatabase(),
    workspace: join(folder, "workspace"),
    workspaceIsDefault: false,
    graphs: join(folder, "langgraph.json"),
    drainSeconds: 5,
    logLevel: "silent",
    // A port that refuses: tests do not depend on what the machine has installed.
    ollamaBaseUrl: "http://127.0.0.1:2",
    // What a test writes into the workspace is no news, except where that is what it is about.
    watchFiles: "off",
    // Its build takes a second or two that few tests need.
    console: false,
    // Both servers share the process of the test: neither a busy process nor a mocked clock must let a lease expire.
    ...(isOneOfTwo && { leaseSeconds: 60 }),
    ...changes,
  };
  try {
    return await start(folder, config, logger);
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

/**
 * `MILLRACE_TEST_SDK=2` takes the other version of the SDK, which an unpinned install may get, through the same tests. What it has
 * no method or field for is sent over HTTP as 1.15 sends it.
 */
export const isSecondSdk = process.env["MILLRACE_TEST_SDK"] === "2";

// Tests use what both have; only the types are other ones.
const TestClient = isSecondSdk ? (SecondClient as unknown as typeof Client) : Client;

/** With `MILLRACE_TEST_STORAGE=servers` every request of a test goes to another one of two servers on one PostgreSQL. */
export const isOneOfTwo = process.env["MILLRACE_TEST_STORAGE"] === "servers";

/** Tests whose storage is SQLite all the same (`system` in `vitest.config.ts`) have one server: a file cannot have two. */
const hasTwoServers = ({ database }: Config): boolean => database !== undefined && isOneOfTwo;

/** Two servers with the same configuration, and where both are reached in turns. */
async function startTwo(config: Config, logger?: Logger): Promise<Pick<TestServer, "url" | "close">> {
  // The port is the balancer's, also after a restart.
  const ofServers = { ...config, port: 0 };
  const servers = [await startServer(ofServers, logger)];
  const close = async (): Promise<void> => void (await Promise.all(servers.map((server) => server.close())));
  try {
    servers.push(await startServer(ofServers, logger));
    const balancer = await new RoundRobin(() => servers.map(({ url }) => url)).listen(config.port);
    return {
      url: balancer.url,
      async close() {
        await close();
        await balancer.close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function start(folder: string, config: Config, logger?: Logger): Promise<TestServer> {
  const server = await (hasTwoServers(config) ? startTwo(config, logger) : startServer(config, logger));
  const apiKey = config.apiKeys[0]?.key;
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= server.close());
  return {
    url: server.url,
    client: new TestClient({ apiUrl: server.url, ...(apiKey && { apiKey }), callerOptions: { maxRetries: 0 } }),
    config,
    close,
    restart: (changes = {}) => start(folder, { ...config, ...changes }, logger),
    async remove() {
      await close();
      await rm(folder, { recursive: true, force: true });
    },
    send(method, path, body, headers = {}) {
      const isText = typeof body === "string" || body instanceof ReadableStream;
      return fetch(`${server.url}${path}`, {
        method,
        headers: { "content-type": "application/json", ...headers },
        // Node's fetch wants `duplex` for a streamed body.
        ...(body !== undefined && { body: isText ? body : JSON.stringify(body), duplex: "half" }),
      });
    },
  };
}
