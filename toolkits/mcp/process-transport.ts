import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { serializeMessage } from "@modelcontextprotocol/sdk/shared/stdio.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { type JSONRPCMessage, JSONRPCMessageSchema } from "@modelcontextprotocol/sdk/types.js";
import { errorMessage } from "@millrace/engine/errors/errors";
import { endGroup, keepGroup, signalGroup } from "@millrace/engine/concurrency/process-group";
import { withTimeout } from "@millrace/engine/concurrency/abort";
import type { McpTransport } from "./mcp-config.ts";
import { messageLimit } from "./http-fetch.ts";

/** Milliseconds for a server to end after its input is closed, and again after SIGTERM. */
const endMilliseconds = 500;

/** Characters kept of a server's stderr: enough to say why it ended. */
const errorTextLength = 1_000;

/**
 * A server as a child process with stdio. The SDK's own transport leaves the server's children behind; here it leads a
 * process group, and the whole group is ended with it.
 */
export class ProcessTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport["onmessage"];

  readonly #server: Extract<McpTransport, { kind: "stdio" }>;
  readonly #lines = new MessageLines();
  #child: ChildProcessWithoutNullStreams | undefined;
  #errorText = "";
  #problem: string | undefined;
  #isOver = false;

  constructor(server: Extract<McpTransport, { kind: "stdio" }>) {
    this.#server = server;
  }

  /** Why it ended, for a reader; `undefined` without a problem. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Rejects if the command cannot be started. */
  async start(): Promise<void> {
    const { command, args, cwd, environment } = this.#server;
    const child = spawn(command, args, { cwd, env: environment, stdio: "pipe", detached: true });
    this.#child = child;
    // A broken pipe shows as the end of the process.
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on("error", () => undefined);
    child.stdout.on("data", (part: Buffer) => this.#read(part));
    child.stderr.on("data", (part: Buffer) => {
      this.#errorText = (this.#errorText + part.toString("utf8")).slice(-errorTextLength);
    });
    child.once("exit", (code, signal) => this.#exited(child, signal ?? `exit code ${code}`));
    try {
      await once(child, "spawn");
    } catch (error) {
      this.#problem = `it cannot be started: ${errorMessage(error)}`;
      this.#isOver = true;
      throw error;
    }
    if (child.pid !== undefined) keepGroup(child.pid);
  }

  send(message: JSONRPCMessage): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    if (this.#child === undefined || this.#isOver) reject(new Error("The server is not running."));
    else this.#child.stdin.write(serializeMessage(message), (error) => (error ? reject(error) : resolve()));
    return promise;
  }

  /** Ends the server and its descendants: gracefully first, after a second by force. */
  async close(): Promise<void> {
    const child = this.#child;
    if (child === undefined || this.#isOver) return;
    const hasExited = child.exitCode !== null || child.signalCode !== null;
    const exited = hasExited ? Promise.resolve() : once(child, "exit");
    child.stdin.end();
    if (child.pid !== undefined && !(await isOverSoon(exited))) {
      signalGroup(child.pid, "SIGTERM");
      await isOverSoon(exited);
    }
    this.#end();
  }

  #read(part: Buffer): void {
    const { messages, problem } = this.#lines.read(part);
    for (const message of messages) this.onmessage?.(message);
    if (problem === undefined) return;
    this.#problem ??= problem;
    this.#end();
  }

  #exited(child: ChildProcessWithoutNullStreams, how: string): void {
    if (child.pid !== undefined) signalGroup(child.pid, "SIGKILL");
    // Read the remaining output first, unless a process outside of the group holds the pipe open.
    const timer = setTimeout(() => this.#ended(how), endMilliseconds);
    child.once("close", () => {
      clearTimeout(timer);
      this.#ended(how);
    });
  }

  #ended(how: string): void {
    const lastWords = this.#errorText.trim().split("\n").at(-1) ?? "";
    this.#problem ??= `it ended with ${how}${lastWords === "" ? "" : ` and said: ${lastWords}`}`;
    this.#end();
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const child = this.#child;
    for (const stream of [child?.stdin, child?.stdout, child?.stderr]) stream?.destroy();
    if (child?.pid !== undefined) endGroup(child.pid);
    this.onclose?.();
  }
}

/** Whether a process ends in time. */
async function isOverSoon(exited: Promise<unknown>): Promise<boolean> {
  return await withTimeout(
    exited.then(() => true),
    endMilliseconds,
    () => false,
  );
}

/** Parsed messages in order, and why reading stopped, if it did. */
export interface ReadMessages {
  messages: JSONRPCMessage[];
  problem?: string;
}

/**
 * Splits the output of a server into messages, one per line. Many programs print a greeting, so lines that do not look
 * like a message are skipped. A line that looks like one but cannot be parsed is an error, since a call waits for it.
 */
export class MessageLines {
  #parts: Buffer[] = [];
  #length = 0;

  /** Parses the next bytes. Must not be called after a problem. */
  read(bytes: Buffer): ReadMessages {
    const messages: JSONRPCMessage[] = [];
    let start = 0;
    for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, start)) {
      this.#keep(bytes.subarray(start, end));
      start = end + 1;
      if (this.#length > messageLimit) return { messages, problem: tooLong };
      const line = Buffer.concat(this.#parts).toString("utf8").trim();
      this.#parts = [];
      this.#length = 0;
      const message = parseLine(line);
      if (message === "broken") return { messages, problem: "it sent something that is no JSON-RPC message" };
      if (message !== "chatter") messages.push(message);
    }
    this.#keep(bytes.subarray(start));
    return this.#length > messageLimit ? { messages, problem: tooLong } : { messages };
  }

  #keep(part: Buffer): void {
    this.#parts.push(part);
    this.#length += part.length;
  }
}

const tooLong = `it sent a message of more than ${messageLimit / 1024 / 1024} MB`;

function parseLine(line: string): JSONRPCMessage | "chatter" | "broken" {
  if (!line.startsWith("{")) return "chatter";
  try {
    const value: unknown = JSON.parse(line);
    const parsed = JSONRPCMessageSchema.safeParse(value);
    if (parsed.success) return parsed.data;
    // A line of a log may be JSON, too.
    return typeof value === "object" && value !== null && "jsonrpc" in value ? "broken" : "chatter";
  } catch {
    return "broken";
  }
}
