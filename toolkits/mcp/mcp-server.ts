import { AppError, errorMessage, isAppError } from "@millrace/engine/errors/errors";
import type { Logger } from "@millrace/engine/logger";
import { unlessAborted } from "@millrace/engine/concurrency/abort";
import { failure, type ToolResult } from "../../src/tools/runtime/result.ts";
import type { Tool } from "../../src/tools/runtime/tool.ts";
import { readCallResult, toTools } from "./mcp-tool.ts";
import type { Connection } from "./connection.ts";
import type { McpServerConfig } from "./mcp-config.ts";

/** What became of a server, and when. */
export interface McpEvent {
  at: string;
  what: "connected" | "lost" | "down" | "tools_left_out" | "list_not_read";
  reason: string | null;
}

/** How a server is now. */
export interface McpState {
  /** `idle`: no run has needed it yet. */
  now: "idle" | "connecting" | "connected" | "lost" | "down";
  /** Since when, unless it is idle or connecting. */
  since: string | null;
  /** Why it was lost or is down. */
  reason: string | null;
  tools: readonly { name: string; description: string }[];
}

/** Events that are kept. */
const keptEvents = 100;

/** Seconds after which an unreachable server may be retried by the next run. */
const defaultRetrySeconds = 30;

/**
 * One MCP server: connected on first use, reconnected after a loss, ended with the program. While it is down its tools
 * are hidden and runs are not delayed; it is retried in the background.
 */
export class McpServer {
  readonly #config: McpServerConfig;
  readonly #logger: Pick<Logger, "warn">;
  readonly #retrySeconds: number;
  readonly #closing = new AbortController();
  #connecting: Promise<Connection> | undefined;
  #live: Connection | undefined;
  #tools: Tool[] = [];
  #isListOld = false;
  /** The last call was aborted without an answer: the server may hang. */
  #isSuspect = false;
  #failedAt: number | undefined;
  readonly #events: McpEvent[] = [];

  constructor(config: McpServerConfig, logger: Pick<Logger, "warn">, retrySeconds = defaultRetrySeconds) {
    this.#config = config;
    this.#logger = logger;
    this.#retrySeconds = retrySeconds;
  }

  /** Its current tools; none while it is down. Waits for the first connection attempt, and throws only on abort. */
  async tools(signal: AbortSignal): Promise<Tool[]> {
    if (this.#closing.signal.aborted) return [];
    const failedBefore = this.#failedAt;
    if (failedBefore !== undefined && Date.now() - failedBefore < this.#retrySeconds * 1_000) return [];
    const connected = this.#connect();
    if (failedBefore !== undefined) {
      // The failure is logged; this run continues without it.
      connected.catch(() => undefined);
      return [];
    }
    try {
      const connection = await unlessAborted(connected, signal);
      if (this.#isListOld) await this.#listAgain(connection, signal);
      return this.#tools;
    } catch (error) {
      signal.throwIfAborted();
      if (!isAppError(error)) throw error;
      return [];
    }
  }

  /** How it is. */
  state(): McpState {
    const last = this.#events.findLast(({ what }) => what === "connected" || what === "lost" || what === "down");
    const isConnected = last?.what === "connected";
    const tools = isConnected ? this.#tools.map(({ name, description }) => ({ name, description })) : [];
    if (!isConnected && this.#connecting !== undefined) return { now: "connecting", since: null, reason: null, tools };
    // Only these three are looked for above.
    const now = (last?.what ?? "idle") as McpState["now"];
    return { now, since: last?.at ?? null, reason: last?.reason ?? null, tools };
  }

  /** What happened to it, the newest last. */
  events(): readonly McpEvent[] {
    return this.#events;
  }

  /** Ends the connection and opens a new one. That it fails is its state; throws only on abort. */
  async reconnect(signal: AbortSignal): Promise<void> {
    const before = await unlessAborted(
      (this.#connecting ?? Promise.resolve(undefined)).catch(() => undefined),
      signal,
    );
    if (before !== undefined) await this.#drop(before);
    this.#failedAt = undefined;
    await this.tools(signal);
  }

  /** Ends the connection, and the server if we started it. */
  async close(): Promise<void> {
    this.#closing.abort();
    const connecting = this.#connecting;
    const connection = await connecting?.catch(() => undefined);
    await connection?.close();
  }

  async #call(
    tool: string,
    args: Record<string, unknown>,
    effect: Tool["effect"],
    signal: AbortSignal,
  ): Promise<ToolResult> {
    const { name } = this.#config;
    // After a server restart one retry with a new session is enough.
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      // Do not start after an abort.
      signal.throwIfAborted();
      const connection = await unlessAborted(this.#usable(), signal);
      try {
        const reply = await connection.call(tool, args, signal);
        if (reply.kind === "result") return readCallResult(name, tool, reply.result);
        await this.#drop(connection);
      } catch (error) {
        if (signal.aborted) this.#isSuspect = true;
        if (!isAppError(error) || error.code !== "network") throw error;
        await this.#drop(connection);
        const advice = "Whether the call took effect is not known: look at the present state before you repeat it.";
        return failure("network", error.message, effect === "pure" ? "Try again later." : advice);
      }
    }
    return failure("network", `The MCP server ${name} forgets its clients.`, "Go on without it.");
  }

  /** A working connection: after an aborted call it is pinged first, and replaced if it does not answer. */
  async #usable(): Promise<Connection> {
    const connection = await this.#connect();
    if (!this.#isSuspect) return connection;
    this.#isSuspect = false;
    if (await connection.answers()) return connection;
    await this.#drop(connection);
    return this.#connect();
  }

  async #drop(connection: Connection): Promise<void> {
    if (this.#live === connection) this.#connecting = undefined;
    await connection.close();
  }

  #connect(): Promise<Connection> {
    if (this.#connecting !== undefined) return this.#connecting;
    const connecting = this.#open();
    this.#connecting = connecting;
    const forget = (): void => {
      if (this.#connecting === connecting) this.#connecting = undefined;
    };
    void connecting.then(async (connection) => {
      const reason = await connection.ended;
      forget();
      if (!this.#closing.signal.aborted) this.#warn({ reason }, "lost");
    }, forget);
    return connecting;
  }

  async #open(): Promise<Connection> {
    const { connectSeconds, name } = this.#config;
    const timeUp = AbortSignal.timeout(Math.ceil(connectSeconds * 1_000));
    const signal = AbortSignal.any([this.#closing.signal, timeUp]);
    let connection: Connection | undefined;
    try {
      signal.throwIfAborted();
      // Loaded on first use, so that programs without servers do not load the SDK.
      const { connect } = await import("./connection.ts");
      connection = await connect(this.#config, signal, () => (this.#isListOld = true));
      await this.#list(connection, signal);
      this.#failedAt = undefined;
      this.#live = connection;
      this.#record("connected", null);
      return connection;
    } catch (error) {
      await connection?.close();
      this.#failedAt = Date.now();
      const reason = timeUp.aborted ? `it did not answer within ${connectSeconds} seconds` : errorMessage(error);
      if (!this.#closing.signal.aborted) this.#warn({ reason }, "down");
      throw new AppError("network", `The MCP server ${name} cannot be used: ${reason}.`, {
        suggestion: "Go on without its tools, and tell the user.",
        cause: error,
      });
    }
  }

  async #list(connection: Connection, signal: AbortSignal): Promise<void> {
    this.#isListOld = false;
    const listed = await connection.listTools(signal);
    const { tools, problems } = toTools(this.#config, listed, (...call) => this.#call(...call));
    if (problems.length > 0) this.#warn({ problems: problems.slice(0, 20) }, "tools_left_out");
    this.#tools = tools;
  }

  /** The server announced new tools. The known ones stay until the list is read. */
  async #listAgain(connection: Connection, signal: AbortSignal): Promise<void> {
    const timeUp = AbortSignal.timeout(Math.ceil(this.#config.connectSeconds * 1_000));
    try {
      await this.#list(connection, AbortSignal.any([signal, timeUp]));
    } catch (error) {
      signal.throwIfAborted();
      if (!isAppError(error)) throw error;
      this.#warn({ reason: error.message }, "list_not_read");
    }
  }

  #warn(about: { reason: string } | { problems: string[] }, what: Exclude<McpEvent["what"], "connected">): void {
    this.#record(what, "reason" in about ? about.reason : about.problems.join("; "));
    this.#logger.warn({ server: this.#config.name, ...about }, logged[what]);
  }

  #record(what: McpEvent["what"], reason: string | null): void {
    this.#events.push({ at: new Date().toISOString(), what, reason });
    if (this.#events.length > keptEvents) this.#events.shift();
  }
}

/** What the log of the program says of it. */
const logged = {
  lost: "mcp_server_lost",
  down: "mcp_server_down",
  tools_left_out: "mcp_tools_left_out",
  list_not_read: "mcp_list_not_read",
};
