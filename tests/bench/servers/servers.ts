import { fork, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { freePort } from "@millrace/testing/free-port";
import { projectFolder } from "../../support/source-files.ts";
import { collectGarbage } from "./collect-garbage.ts";

/** A server under test: a process of its own, measured from outside. */
export interface ServerUnderTest {
  name: "millrace" | "peer";
  url: string;
  pid: number;
  /** From the start of the process to the first 200 of `/ok`. */
  readyMs: number;
  /** CPU the process has used so far, ms. */
  cpuMs(): number;
  residentMb(): number;
  /** Makes it collect its garbage; the peer has no way to request it. */
  collectGarbage?: () => Promise<void>;
  stop(): Promise<void>;
}

/** The scripted model in a process of its own, so that its work is not counted. */
export async function startModel(): Promise<{ url: string; stop(): Promise<void> }> {
  const child = fork(join(projectFolder, "tests/bench/servers/model-process.ts"));
  const [url] = await once(child, "message");
  return {
    url: String(url),
    stop: async () => {
      child.disconnect();
      await exited(child);
    },
  };
}

const Package = z.looseObject({ scripts: z.looseObject({ start: z.string().startsWith("exec node ") }) });

/** What `npm run build` makes. */
export const bundledServer = join(projectFolder, "dist", "server", "server.js");

/**
 * Starts what `npm start` starts over the bench's graphs in an empty data folder, which `stop` removes. `bundled` starts
 * what `npm run build` made, with the graphs it bundled; `isFirst`, as if nothing were kept of an earlier start;
 * `apiKeys`, as MILLRACE_API_KEYS lists them; `database`, the address of one in PostgreSQL; `slots`: runs at once, if not as
 * usual; `environment`: further settings.
 */
export async function startMillrace(
  modelUrl: string,
  { bundled = false, isFirst = false, apiKeys = "", database = "", slots = 0, environment: further = {} } = {},
): Promise<ServerUnderTest> {
  const folder = mkdtempSync(join(tmpdir(), "millrace-bench-"));
  mkdirSync(join(folder, "workspace"));
  writeFileSync(join(folder, "workspace", "notes.md"), "# Notes\n\nThe answer is 42.\n");
  const port = await freePort();
  const environment = {
    ...plainEnvironment(modelUrl),
    PORT: String(port),
    MILLRACE_DATA_DIR: join(folder, "data"),
    MILLRACE_WORKSPACE: join(folder, "workspace"),
    MILLRACE_GRAPHS: join(bundled ? dirname(bundledServer) : join(projectFolder, "tests/bench"), "langgraph.json"),
    ...(bundled ? { NODE_COMPILE_CACHE: join(tmpdir(), "millrace-bench-compile-cache") } : {}),
    ...(isFirst ? { NODE_DISABLE_COMPILE_CACHE: "1" } : {}),
    MILLRACE_MODEL: "openai:bench",
    MILLRACE_LOG_LEVEL: "error",
    MILLRACE_API_KEYS: apiKeys,
    ...(database === "" ? {} : { MILLRACE_DATABASE: database }),
    ...(slots === 0 ? {} : { MILLRACE_MAX_CONCURRENT_RUNS: String(slots) }),
    ...further,
  };
  const inspectorPort = await freePort();
  const server = await startServer({
    name: "millrace",
    command: process.execPath,
    arguments: [`--inspect-port=127.0.0.1:${inspectorPort}`, ...startWords(bundled ? bundledServer : undefined)],
    cwd: folder,
    environment,
    port,
    cleanUp: () => rmSync(folder, { recursive: true, force: true }),
  });
  return { ...server, collectGarbage: () => collectGarbage(server.pid, inspectorPort) };
}

/**
 * Starts the development server of LangGraph.js in `peerFolder`, where `@langchain/langgraph-cli` 1.5.1 is installed, with
 * the same graphs (ours left out: it needs our sources).
 */
export async function startPeer(peerFolder: string, modelUrl: string): Promise<ServerUnderTest> {
  const graphs = join(peerFolder, "graphs");
  mkdirSync(graphs, { recursive: true });
  const names = ["noop", "chat", "react", "history"];
  for (const name of names) {
    const text = readFileSync(join(projectFolder, "tests/bench/graphs", `${name}.ts`), "utf8");
    writeFileSync(join(graphs, `${name}.ts`), text);
  }
  const list = Object.fromEntries(names.map((name) => [name, `./graphs/${name}.ts:graph`]));
  writeFileSync(join(peerFolder, "langgraph.json"), JSON.stringify({ node_version: "20", graphs: list, env: {} }));
  const port = await freePort();
  const state = join(peerFolder, ".langgraph_api");
  rmSync(state, { recursive: true, force: true });
  return await startServer({
    name: "peer",
    command: process.execPath,
    arguments: [
      join(peerFolder, "node_modules/@langchain/langgraph-cli/dist/cli/cli.mjs"),
      "dev",
      "--no-browser",
      "--no-reload",
      "--host",
      "127.0.0.1",
      "--port",
      String(port),
    ],
    cwd: peerFolder,
    environment: plainEnvironment(modelUrl),
    port,
    cleanUp: () => rmSync(state, { recursive: true, force: true }),
  });
}

/** The arguments of `npm start` for Node, with the whole path of its file, or another file in its place. */
function startWords(file?: string): string[] {
  const { scripts } = Package.parse(JSON.parse(readFileSync(join(projectFolder, "package.json"), "utf8")));
  return scripts.start
    .replace(/^exec node /u, "")
    .split(" ")
    .map((word) => (word.startsWith("-") ? word : (file ?? join(projectFolder, word))));
}

interface StartOptions {
  name: ServerUnderTest["name"];
  command: string;
  arguments: string[];
  cwd: string;
  environment: Record<string, string>;
  port: number;
  cleanUp(): void;
}

async function startServer(options: StartOptions): Promise<ServerUnderTest> {
  const started = performance.now();
  // A group of its own: the peer's command starts its server as a child.
  const child = spawn(options.command, options.arguments, {
    cwd: options.cwd,
    env: options.environment,
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  let output = "";
  child.stdout.on("data", (text) => (output = (output + String(text)).slice(-4000)));
  child.stderr.on("data", (text) => (output = (output + String(text)).slice(-4000)));
  const url = `http://127.0.0.1:${options.port}`;
  try {
    await ready(url, child, () => output);
  } catch (error) {
    await stopGroup(child);
    options.cleanUp();
    throw error;
  }
  const readyMs = performance.now() - started;
  return {
    name: options.name,
    url,
    pid: child.pid ?? 0,
    readyMs,
    cpuMs: () => cpuOfFamily(child.pid ?? 0),
    residentMb: () => family(child.pid ?? 0).reduce((sum, pid) => sum + residentOf(pid), 0),
    stop: async () => {
      await stopGroup(child);
      options.cleanUp();
    },
  };
}

async function ready(url: string, child: ChildProcess, output: () => string): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (performance.now() < deadline) {
    if (child.exitCode !== null) throw new Error(`The server ended at once (${child.exitCode}):\n${output()}`);
    const ok = await fetch(`${url}/ok`).then(
      (response) => response.ok,
      () => false,
    );
    if (ok) return;
    await delay(10);
  }
  throw new Error(`The server was not ready after 60 s:\n${output()}`);
}

async function stopGroup(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null) return;
  process.kill(-child.pid, "SIGTERM");
  const timer = setTimeout(() => process.kill(-(child.pid ?? 0), "SIGKILL"), 5000);
  try {
    await exited(child);
  } finally {
    clearTimeout(timer);
  }
}

async function exited(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
}

function plainEnvironment(modelUrl: string): Record<string, string> {
  return {
    PATH: process.env["PATH"] ?? "",
    HOME: process.env["HOME"] ?? "",
    OPENAI_BASE_URL: modelUrl,
    OPENAI_API_KEY: "bench",
    LANGSMITH_TRACING: "false",
  };
}

/** CPU that a process and everything it started have used so far, ms. */
export function cpuOfFamily(root: number): number {
  return family(root).reduce((sum, pid) => sum + cpuOf(pid), 0);
}

/** The process and everything it started. */
function family(root: number): number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync("/proc")) {
    const pid = Number(name);
    if (Number.isInteger(pid)) parents.set(pid, Number(statOf(pid)?.[1] ?? 0));
  }
  const members = [root];
  for (const member of members) {
    for (const [pid, parent] of parents) if (parent === member) members.push(pid);
  }
  return members;
}

/** The fields after the name in `/proc/<pid>/stat`: state, parent, …; `undefined` when the process is gone. */
function statOf(pid: number): string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    return undefined;
  }
}

function cpuOf(pid: number): number {
  const fields = statOf(pid);
  if (fields === undefined) return 0;
  // User and system time, and that of children which have ended, in ticks of 10 ms (USER_HZ is 100 on Linux).
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) * 10;
}

/** Resident memory of a process, MB; 0 when it is gone. */
export function residentOf(pid: number): number {
  try {
    const line = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
    return Number(line?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}
