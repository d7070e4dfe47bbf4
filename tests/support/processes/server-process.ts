import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Client } from "@langchain/langgraph-sdk";
import { projectFolder } from "../source-files.ts";
import { programEnvironment } from "./program.ts";

/** How a process ended: its exit code, or the signal that ended it. */
export interface ProcessEnd {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** The real server in a process of its own, that can be killed and started again on the same data and port. */
export class ServerProcess {
  readonly logFile: string;
  readonly #folder: string;
  readonly #workspace: string;
  readonly #nodeArguments: string[];
  readonly #program: string;
  #environment: Record<string, string> = {};
  #port = 0;
  #child: ChildProcess | undefined;

  /** `folder` holds its data and log; `nodeArguments` come before the program's name; `root`: the sources it is started from. */
  constructor(folder: string, workspace: string, nodeArguments: string[] = [], root = projectFolder) {
    this.#folder = folder;
    this.#workspace = workspace;
    this.#nodeArguments = nodeArguments;
    this.#program = join(root, "bin/millrace.cjs");
    this.logFile = join(folder, "server.log");
    closeSync(openSync(this.logFile, "a"));
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  get port(): number {
    return this.#port;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** The database it writes. */
  get databaseFile(): string {
    return join(this.#folder, "data", "millrace.db");
  }

  /** The official client. */
  get client(): Client {
    return new Client({ apiUrl: this.url });
  }

  /** Variables for the next start, beside the server's own. */
  configure(environment: Record<string, string>): void {
    this.#environment = environment;
  }

  /** Starts and waits until it answers. Throws when it ends first, or after 90 s. */
  async start(): Promise<void> {
    if (this.#port === 0) this.#port = await quietPort();
    const log = openSync(this.logFile, "a");
    const child = spawn(process.execPath, [...this.#nodeArguments, this.#program], {
      cwd: this.#folder,
      env: {
        ...programEnvironment,
        HOME: this.#folder,
        PORT: String(this.#port),
        MILLRACE_DATA_DIR: join(this.#folder, "data"),
        MILLRACE_WORKSPACE: this.#workspace,
        MILLRACE_GRAPHS: join(projectFolder, "langgraph.json"),
        ...this.#environment,
      },
      stdio: ["ignore", log, log],
    });
    this.#child = child;
    closeSync(log);
    for (let attempt = 0; attempt < 3600; attempt += 1) {
      const end = child.exitCode ?? child.signalCode;
      if (end !== null) throw new Error(`The server ended with ${end}.`);
      if ((await isListening(this.#port)) && (await isServing(this.url))) return;
      // To ask more often takes from the start what it would need itself.
      await delay(25);
    }
    throw new Error("The server was not ready after 90 s.");
  }

  /** Waits until it ends by itself. */
  async ended(): Promise<ProcessEnd> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined) throw new Error("The server was not started.");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    return { code: child.exitCode, signal: child.signalCode };
  }

  /** `kill -9`: it gets no signal it could handle, nothing can be saved. */
  async kill(): Promise<void> {
    await this.end("SIGKILL");
  }

  /** SIGTERM, and the wait for the end. */
  async stop(): Promise<void> {
    await this.end("SIGTERM");
  }

  /** Sends a signal that ends it, and returns how it ended; `undefined` when it was not running. */
  async end(signal: NodeJS.Signals): Promise<ProcessEnd | undefined> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return undefined;
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
    return { code: child.exitCode, signal: child.signalCode };
  }
}

/** Whether a program listens on a port of this machine. To be refused so costs a third of a refused request. */
async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

async function isServing(url: string): Promise<boolean> {
  return fetch(`${url}/ok`).then(
    (response) => response.ok,
    () => false,
  );
}

/**
 * A free port below those the system gives to outgoing connections: a server that is started again on its port would else
 * now and then find a client's connection there.
 */
async function quietPort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const port = 15_000 + Math.floor(Math.random() * 15_000);
    const server = createServer();
    const free = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false));
      server.listen(port, "127.0.0.1", () => resolve(true));
    });
    if (!free) continue;
    server.close();
    await once(server, "close");
    return port;
  }
  throw new Error("No free port was found in 100 tries.");
}
