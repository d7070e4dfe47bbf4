import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport, StreamableHTTPError } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ErrorCode, McpError, ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import { AppError, errorMessage } from "@millrace/engine/errors/errors";
import { boundedFetch } from "./http-fetch.ts";
import type { McpServerConfig, McpTransport } from "./mcp-config.ts";
import { ProcessTransport } from "./process-transport.ts";
import { withTimeout } from "@millrace/engine/concurrency/abort";

/** The only module that loads the SDK; imported on first use of a server, to keep the start fast. */

/** The outcome of a call. `lost`: the server has lost our session and has not run it. */
export type Reply = { kind: "result"; result: unknown } | { kind: "lost" };

/** One connection to a server, usable until it breaks or is closed. */
export interface Connection {
  /** All tools as the server describes them, unvalidated. Throws an `AppError` if the list fails. */
  listTools(signal: AbortSignal): Promise<unknown[]>;
  /** Throws an `AppError` for errors of the server, and the signal's reason after an abort. */
  call(tool: string, args: Record<string, unknown>, signal: AbortSignal): Promise<Reply>;
  /** Whether the server still answers, within two seconds. */
  answers(): Promise<boolean>;
  /** Why it ended; settles when it has. */
  ended: Promise<string>;
  close(): Promise<void>;
}

const Listing = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional() });

/** Maximum pages of a list: a server may page endlessly. */
const pageLimit = 50;
/** Milliseconds for a ping and for a shutdown. */
const shortMilliseconds = 2_000;
/** Our own time limits are by signal; the SDK's must not come first. Milliseconds. */
const noLimit = 2 ** 31 - 1;

/**
 * Starts or reaches a server and initializes the session. `onListChanged` is called when its tools have changed. Throws
 * an `AppError` with the code `network` that says why it cannot be used.
 */
export async function connect(
  { name, transport: target, secrets }: McpServerConfig,
  signal: AbortSignal,
  onListChanged: () => void,
): Promise<Connection> {
  let problem: string | undefined;
  const clean = (text: string): string => withoutSecrets(text, secrets);
  const client = new Client({ name: "millrace", version: "1" }, { capabilities: {} });
  const ended = Promise.withResolvers<string>();
  const transport = openTransport(target, (found) => {
    problem ??= found;
    void client.close();
  });
  const why = (): string | undefined => {
    const found = transport instanceof ProcessTransport ? transport.problem : problem;
    return found === undefined ? undefined : clean(found);
  };
  client.onclose = () => ended.resolve(why() ?? "it was closed");
  client.setNotificationHandler(ToolListChangedNotificationSchema, onListChanged);
  const close = async (): Promise<void> => {
    if (transport instanceof StreamableHTTPClientTransport) await leave(transport);
    await client.close();
  };
  try {
    await client.connect(transport, { signal, timeout: noLimit });
  } catch (error) {
    await client.close();
    const reason = signal.aborted ? "it did not answer in time" : (why() ?? clean(errorMessage(error)));
    throw new AppError("network", reason, { cause: unlessRepeating(error, clean) });
  }
  return {
    listTools: (listSignal) => listAll(client, listSignal, (error) => why() ?? clean(errorMessage(error))),
    async call(tool, args, callSignal) {
      const options = { signal: callSignal, timeout: noLimit };
      try {
        const request = { method: "tools/call" as const, params: { name: tool, arguments: args } };
        return { kind: "result", result: await client.request(request, z.unknown(), options) };
      } catch (error) {
        callSignal.throwIfAborted();
        if (isSessionLost(error, transport)) return { kind: "lost" };
        throw toAppError(error, name, why(), clean);
      }
    },
    answers: async () => {
      try {
        await client.ping({ timeout: shortMilliseconds });
        return true;
      } catch {
        return false;
      }
    },
    ended: ended.promise,
    close,
  };
}

async function listAll(client: Client, signal: AbortSignal, why: (error: unknown) => string): Promise<unknown[]> {
  const tools: unknown[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < pageLimit; page += 1) {
    const params = cursor === undefined ? {} : { cursor };
    try {
      const listing = await client.request({ method: "tools/list", params }, Listing, { signal, timeout: noLimit });
      tools.push(...listing.tools);
      cursor = listing.nextCursor;
    } catch (error) {
      throw new AppError("network", `its list of tools does not come: ${why(error)}`);
    }
    if (cursor === undefined) return tools;
  }
  throw new AppError("network", "its list of tools does not end");
}

function openTransport(
  target: McpTransport,
  onBroken: (problem: string) => void,
): ProcessTransport | StreamableHTTPClientTransport {
  if (target.kind === "stdio") return new ProcessTransport(target);
  return new StreamableHTTPClientTransport(new URL(target.url), {
    requestInit: { headers: target.headers },
    fetch: boundedFetch(onBroken),
  });
}

/** Ends the session at the server. A failure is ignored, since sessions expire anyway. */
async function leave(transport: StreamableHTTPClientTransport): Promise<void> {
  const left = transport.terminateSession().catch(() => undefined);
  await withTimeout(left, shortMilliseconds, () => undefined);
}

/** A restarted server answers 404, some 400, for the old session, and runs nothing. */
function isSessionLost(error: unknown, transport: ProcessTransport | StreamableHTTPClientTransport): boolean {
  return (
    error instanceof StreamableHTTPError &&
    (error.code === 404 || error.code === 400) &&
    transport instanceof StreamableHTTPClientTransport &&
    transport.sessionId !== undefined
  );
}

/** Servers and proxies may repeat a rejected key. */
function withoutSecrets(text: string, secrets: readonly string[]): string {
  // Shorter strings occur in any text.
  const long = secrets.filter(({ length }) => length >= 6);
  return long.reduce((rest, secret) => rest.replaceAll(secret, "[redacted]"), text);
}

/** The logger also writes the cause. */
function unlessRepeating(error: unknown, clean: (text: string) => string): unknown {
  const text = errorMessage(error);
  return clean(text) === text ? error : undefined;
}

function toAppError(
  error: unknown,
  server: string,
  problem: string | undefined,
  clean: (text: string) => string,
): AppError {
  if (error instanceof McpError) {
    const detail = clean(error.message).slice(0, 2_000);
    switch (error.code) {
      case ErrorCode.ConnectionClosed: {
        const reason = problem === undefined ? "" : `: ${problem}`;
        return new AppError("network", `The MCP server ${server} went away during the call${reason}.`);
      }
      case ErrorCode.InvalidParams:
        return new AppError("invalid_parameter", `The MCP server ${server} does not accept the call: ${detail}`);
      default:
        return new AppError("execution_failed", `The MCP server ${server} answered with an error: ${detail}`);
    }
  }
  const reason = problem ?? clean(errorMessage(error)).slice(0, 2_000);
  const cause = unlessRepeating(error, clean);
  return new AppError("network", `The MCP server ${server} cannot be reached: ${reason}.`, { cause });
}
