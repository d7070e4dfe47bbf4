import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Client } from "@langchain/langgraph-sdk";
import { freePort } from "../bench/servers.ts";
import { projectFolder } from "../support/source-files.ts";

/** The real server in a process of its own, that can be killed and started again on the same data and port. */
export class DemoServer {
  readonly logFile: string;
  readonly #folder: string;
  readonly #workspace: string;
  #environment: Record<string, string> = {};
  #port = 0;
  #child: ChildProcess | undefined;

  constructor(folder: string, workspace: string) {
    this.#folder = folder;
    this.#workspace = workspace;
    this.logFile = join(folder, "server.log");
    closeSync(openSync(this.logFile, "a"));
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** The official client. */
  get client(): Client {
    return new Client({ apiUrl: this.url });
  }

  /** Variables for the next start, beside the server's own. */
  configure(environment: Record<string, string>): void {
    this.#environment = environment;
  }

  /** Starts and waits until it answers. */
  async start(): Promise<void> {
    if (this.#port === 0) this.#port = await freePort();
    const log = openSync(this.logFile, "a");
    this.#child = spawn(process.execPath, [join(projectFolder, "src/server.ts")], {
      cwd: this.#folder,
      env: {
        PATH: process.env["PATH"] ?? "",
        HOME: this.#folder,
        PORT: String(this.#port),
        MILLRACE_DATA_DIR: join(this.#folder, "data"),
        MILLRACE_WORKSPACE: this.#workspace,
        MILLRACE_GRAPHS: join(projectFolder, "langgraph.json"),
        ...this.#environment,
      },
      stdio: ["ignore", log, log],
    });
    closeSync(log);
    for (let attempt = 0; attempt < 3000; attempt += 1) {
      if (this.#child.exitCode !== null) throw new Error(`The server ended with ${this.#child.exitCode}.`);
      const answers = await fetch(`${this.url}/ok`).then(
        (response) => response.ok,
        () => false,
      );
      if (answers) return;
      await delay(10);
    }
    throw new Error("The server was not ready after 30 s.");
  }

  /** `kill -9`: nothing is told, nothing can be saved. */
  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  /** SIGTERM, and the wait for the end. */
  async stop(): Promise<void> {
    await this.#end("SIGTERM");
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
  }
}
