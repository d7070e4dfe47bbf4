import { mkdtempSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { startModelServer, type ModelRequest, type ModelServer, type ModelStep } from "@millrace/testing/model-server";
import { startPooler } from "../../support/processes/pooler.ts";
import { startPostgres } from "../../support/processes/postgres.ts";
import { ServerProcess } from "../../support/processes/server-process.ts";
import { projectFolder } from "../../support/source-files.ts";
import { type StoppedDatabase, stoppedFile, stoppedPostgres } from "./database.ts";

const graphNames = ["one", "nested", "retrying", "talker", "walker", "watched"];

/** A server with its folder, its effect log and its scripted model. Close it in `finally`. */
export interface World {
  folder: string;
  workspace: string;
  effectsFile: string;
  /** What the graph `walker` notes. */
  stepsFile: string;
  server: ServerProcess;
  /** All of them, where there are several. */
  servers: readonly ServerProcess[];
  model: ModelServer;
  /** The variables that its servers are started with, for one more. */
  settings: Record<string, string>;
  /** What its server has stored; to be read while that is stopped. */
  database: StoppedDatabase;
  close(): Promise<void>;
}

/** What is particular about a world: variables of the servers, arguments of their node, and how many servers there are. */
export interface WorldOptions {
  environment?: Record<string, string>;
  /** Further variables of one of several servers. */
  environmentOf?: (index: number) => Record<string, string>;
  nodeArguments?: string[];
  /** The sources that they are started from. */
  root?: string | undefined;
  /** More than one need a `MILLRACE_DATABASE` in `environment`. */
  servers?: number;
}

interface OpenedPostgres {
  /** What the server is given. */
  url: string;
  /** The same database, with no pooler in between. */
  direct: string;
  stop(): Promise<void>;
}

/** With `MILLRACE_TEST_STORAGE` a PostgreSQL and an empty database in it: `postgres`, or `pgbouncer` with one in between. */
async function openPostgres(): Promise<OpenedPostgres | undefined> {
  const wanted = process.env["MILLRACE_TEST_STORAGE"];
  if (wanted !== "postgres" && wanted !== "pgbouncer") return undefined;
  const started = await startPostgres();
  if (started === undefined) throw new Error(`MILLRACE_TEST_STORAGE=${wanted}, and there is no PostgreSQL.`);
  try {
    const direct = await started.create();
    if (wanted === "postgres") return { url: direct, direct, stop: () => started.stop() };
    const pooler = await startPooler(() => Promise.resolve(direct));
    if (pooler === undefined) throw new Error("MILLRACE_TEST_STORAGE=pgbouncer, and there is no PgBouncer.");
    const stop = async (): Promise<void> => {
      await pooler.stop();
      await started.stop();
    };
    return { url: pooler.of(direct), direct, stop };
  } catch (error) {
    await started.stop();
    throw error;
  }
}

/** A `langgraph.json` of the fault suite's graphs, with the sources of `root`. */
export function graphsOf(root = projectFolder): string {
  const shapesFile = join(root, "tests/faults/harness/shapes.ts");
  const graphs = Object.fromEntries(graphNames.map((name) => [name, `${shapesFile}:${name}`]));
  graphs["agent"] = `${join(root, "src/graph/workflow.ts")}:workflow`;
  return JSON.stringify({ graphs });
}

/** Starts a server over the fault suite's graphs in an empty folder, with a model that answers by `handler`. */
export async function openWorld(
  handler: (request: ModelRequest) => ModelStep | Promise<ModelStep>,
  { environment = {}, environmentOf = () => ({}), nodeArguments = [], root, servers: count = 1 }: WorldOptions = {},
): Promise<World> {
  const folder = await mkdtemp(join(tmpdir(), "millrace-faults-"));
  const workspace = join(folder, "workspace");
  const effectsFile = join(folder, "effects");
  await mkdir(workspace);
  await writeFile(effectsFile, "");
  const stepsFile = join(folder, "steps");
  await writeFile(stepsFile, "");
  await writeFile(join(folder, "langgraph.json"), graphsOf(root));
  const postgres = await openPostgres();
  const model = await startModelServer({ handler, record: false });
  const settings = {
    MILLRACE_GRAPHS: join(folder, "langgraph.json"),
    MILLRACE_LOG_LEVEL: "warn",
    MILLRACE_MODEL: "openai:scripted",
    EFFECTS_FILE: effectsFile,
    STEPS_FILE: stepsFile,
    OPENAI_BASE_URL: model.url,
    OPENAI_API_KEY: "test-key",
    ...(postgres && { MILLRACE_DATABASE: postgres.url }),
    ...environment,
  };
  const servers = Array.from({ length: count }, (_, index) => {
    const place = index === 0 ? folder : mkdtempSync(join(folder, "server-"));
    const server = new ServerProcess(place, workspace, nodeArguments, root);
    server.configure({ ...settings, ...environmentOf(index) });
    return server;
  });
  const [server] = servers;
  if (server === undefined) throw new Error("A world has a server.");
  const close = async (): Promise<void> => {
    await Promise.all(servers.map((one) => one.end("SIGKILL")));
    await model.close();
    await postgres?.stop();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    // One after the other: the first one makes the tables.
    for (const one of servers) await one.start();
  } catch (error) {
    await close();
    throw error;
  }
  const database = postgres === undefined ? stoppedFile(server.databaseFile) : stoppedPostgres(postgres.direct);
  return { folder, workspace, effectsFile, stepsFile, server, servers, model, settings, database, close };
}

/** Where requests go: a server, or each time another one of several. */
export type Addressed = Pick<ServerProcess, "url">;

/** An answer of the server: status and body, parsed where it is JSON (`undefined` when there is none). */
export interface Answer {
  status: number;
  body: unknown;
}

/** One request with a JSON body, given up after 30 s and without any retry: a suite about faults wants to see each. */
export async function call(server: Addressed, method: string, path: string, body?: unknown): Promise<Answer> {
  const response = await fetch(server.url + path, {
    method,
    signal: AbortSignal.timeout(30_000),
    ...(body === undefined ? {} : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.includes("json") === true;
  return { status: response.status, body: text === "" ? undefined : isJson ? JSON.parse(text) : text };
}

/** Like `call`, and throws unless the answer is a success. */
export async function ask(server: Addressed, method: string, path: string, body?: unknown): Promise<unknown> {
  const answered = await call(server, method, path, body);
  if (answered.status < 300) return answered.body;
  throw new Error(`${method} ${path} was answered with ${answered.status}: ${JSON.stringify(answered.body)}`);
}

const ThreadAnswer = z.looseObject({
  thread_id: z.string(),
  status: z.string(),
  error: z.object({ error: z.string(), message: z.string() }).nullish(),
  interrupts: z.record(z.string(), z.array(z.looseObject({ id: z.string().optional() }))).default({}),
});
/** A thread as the wire shows it. */
export type ThreadAnswer = z.infer<typeof ThreadAnswer>;
const RunAnswer = z.looseObject({ run_id: z.string(), status: z.string() });
/** A run as the wire shows it. */
export type RunAnswer = z.infer<typeof RunAnswer>;
/** The form of a message on the wire. */
export const WireMessage = z.looseObject({
  type: z.string(),
  id: z.string().nullish(),
  content: z.unknown(),
  tool_call_id: z.string().optional(),
  tool_calls: z.array(z.looseObject({ id: z.string().optional() })).optional(),
});
/** A message as the wire shows it. */
export type StateMessage = z.infer<typeof WireMessage>;
const StateAnswer = z.looseObject({ values: z.looseObject({ messages: z.array(WireMessage).default([]) }).nullish() });

/** A new thread's id. */
export async function newThread(server: Addressed): Promise<string> {
  return ThreadAnswer.parse(await ask(server, "POST", "/threads", {})).thread_id;
}

/** The thread itself. */
export async function getThread(server: Addressed, threadId: string): Promise<ThreadAnswer> {
  return ThreadAnswer.parse(await ask(server, "GET", `/threads/${threadId}`));
}

/** Starts a run in the background; resolves when the server has accepted it. */
export async function startRun(server: Addressed, threadId: string, body: object): Promise<RunAnswer> {
  return RunAnswer.parse(await ask(server, "POST", `/threads/${threadId}/runs`, body));
}

/** The runs of a thread. */
export async function listRuns(server: Addressed, threadId: string): Promise<RunAnswer[]> {
  return z.array(RunAnswer).parse(await ask(server, "GET", `/threads/${threadId}/runs?limit=1000`));
}

/** The run, or `undefined` when there is none. */
export async function getRun(server: Addressed, threadId: string, runId: string): Promise<RunAnswer | undefined> {
  const { status, body } = await call(server, "GET", `/threads/${threadId}/runs/${runId}`);
  if (status === 404) return undefined;
  return RunAnswer.parse(body);
}

/** The messages of a thread's newest state. */
export async function readMessages(server: Addressed, threadId: string): Promise<StateMessage[]> {
  const state = StateAnswer.parse(await ask(server, "GET", `/threads/${threadId}/state`));
  return state.values?.messages ?? [];
}

/** The text of a message; what is not text is left out. */
export function textOf(message: StateMessage): string {
  return typeof message.content === "string" ? message.content : JSON.stringify(message.content);
}
