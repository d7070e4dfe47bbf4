import { randomUUID } from "node:crypto";
import type { MiddlewareHandler } from "hono";
import type { HttpContext, HttpEnvironment } from "../environment.ts";
import { AppError } from "../../errors/errors.ts";
import type { Logger } from "../../logger.ts";
import { promisify } from "node:util";
import { constants, gzip } from "node:zlib";

/** Settings of the request basics. */
interface RequestBasics {
  /** Bytes. */
  bodyLimit: number;
  /** Slower plain answers are logged. */
  slowSeconds: number;
  logger: Logger;
}

/**
 * The window in milliseconds for counting refusals, and how many of them are logged: anyone can be refused any number
 * of times.
 */
const refusalWindow = 60_000;
const maxRefusals = 20;

/**
 * Sets the request's id (the client's `x-request-id` if it is a plain token) and the body limit in bytes, and logs the
 * request: refusals by caller or load, slow plain answers, and at `debug` everything. Streams and waits last as long as
 * their run.
 */
export function requestBasics({ bodyLimit, slowSeconds, logger }: RequestBasics): MiddlewareHandler<HttpEnvironment> {
  let window = { since: 0, refused: 0 };
  return async (context, next) => {
    const given = context.req.header("x-request-id");
    const requestId = given !== undefined && /^[\w.-]{1,128}$/.test(given) ? given : randomUUID();
    context.set("requestId", requestId);
    context.set("bodyLimit", bodyLimit);
    context.header("X-Request-Id", requestId);
    const startedAt = performance.now();
    await next();
    const { outgoing, incoming } = context.env;
    const duration = performance.now() - startedAt;
    const isPlain = !outgoing.headersSent;
    const status = isPlain ? context.res.status : outgoing.statusCode;
    const isRefused = status === 401 || status === 403 || status === 429;
    const isSlow = isPlain && duration > slowSeconds * 1_000;
    if (!isRefused && !isSlow && !logger.isLevelEnabled("debug")) return;
    const { method, path } = context.req;
    const about = { method, path, status, duration_ms: Math.round(duration), request_id: requestId };
    if (isRefused) {
      const now = performance.now();
      if (now - window.since > refusalWindow) {
        if (window.refused > maxRefusals) logger.warn({ more: window.refused - maxRefusals }, "requests_refused");
        window = { since: now, refused: 0 };
      }
      window.refused += 1;
      if (window.refused <= maxRefusals) {
        const has_key =
          context.req.header("x-api-key") !== undefined || context.req.header("authorization") !== undefined;
        logger.warn({ ...about, from: incoming.socket.remoteAddress, has_key }, "request_refused");
      }
    } else if (isSlow) logger.warn(about, "request_slow");
    else logger.debug(about, "request");
  };
}

/** Health checks must answer under load. */
const healthPaths = new Set(["/ok", "/health/live", "/health/ready", "/metrics"]);

/**
 * Refuses requests above the concurrency limit with 429 and Retry-After. One handler counts across all apps. A request
 * counts until its response is fully sent, so followers of a run count throughout.
 */
export function limitRequests(maxOpen: number): MiddlewareHandler<HttpEnvironment> {
  let open = 0;
  return async (context, next) => {
    if (healthPaths.has(context.req.path)) return next();
    if (open >= maxOpen) {
      throw new AppError(
        "rate_limit",
        `The server answers ${maxOpen} requests at the same time, and this is one more.`,
        {
          suggestion: "Send it again in a moment.",
          recoverable: true,
        },
      );
    }
    const { incoming, outgoing, acceptSocket } = context.env;
    // A WebSocket is answered on the connection itself.
    const line = acceptSocket === undefined ? outgoing : incoming.socket;
    // A closed connection emits no further end event.
    if (line.destroyed) return next();
    open += 1;
    line.once("close", () => {
      open -= 1;
    });
    return next();
  };
}

const text = /^(?:text\/(?!event-stream)|application\/(?:[\w.+-]+\+)?(?:json|javascript|xml|yaml))/u;

/**
 * Compresses long plain answers with gzip if the client accepts it. Events bypass it, written to node's own response.
 */
export const compressResponses: MiddlewareHandler<HttpEnvironment> = async (context, next) => {
  await next();
  // Inspecting the body itself would double the cost of a short answer.
  if (context.get("isLong") !== true || context.env.outgoing.headersSent || !takesGzip(context)) return;
  const { res } = context;
  if (!text.test(res.headers.get("content-type") ?? "") || res.headers.has("content-encoding")) return;
  const bytes = await packed(new Uint8Array(await res.arrayBuffer()));
  const answer = new Response(new Uint8Array(bytes), res);
  answer.headers.set("content-encoding", "gzip");
  answer.headers.delete("content-length");
  answer.headers.append("vary", "Accept-Encoding");
  // Set in two steps: onto a response with headers Hono would copy them.
  context.res = undefined;
  context.res = answer;
};

/** Bytes from which answers are compressed: smaller ones fit in a few packets anyway. */
export const packedFrom = 4096;

const pack = promisify(gzip);

/** Whether the client accepts gzip (RFC 9110, section 12.5.3): by name or wildcard, with a weight above 0. */
function takesGzip(context: HttpContext): boolean {
  const wanted = context.req.header("accept-encoding");
  if (wanted === undefined) return false;
  const weights = new Map(
    wanted.split(",").map((part): [string, number] => {
      const [coding = "", ...parameters] = part.trim().toLowerCase().split(";");
      const weight = parameters.map((one) => /^\s*q=([\d.]+)\s*$/u.exec(one)?.[1]).find((text) => text !== undefined);
      return [coding.trim(), weight === undefined ? 1 : Number(weight)];
    }),
  );
  return (weights.get("gzip") ?? weights.get("x-gzip") ?? weights.get("*") ?? 0) > 0;
}

/** The bytes compressed, favouring speed over size, off the event loop. */
function packed(bytes: Uint8Array): Promise<Buffer> {
  return pack(bytes, { level: constants.Z_BEST_SPEED });
}

/** A text ready to send: compressed if long and accepted, with the matching headers. */
export async function packedText(
  context: HttpContext,
  text: string,
): Promise<{ body: string | Buffer; headers: Record<string, string> }> {
  if (text.length < packedFrom || !takesGzip(context)) return { body: text, headers: {} };
  return { body: await packed(Buffer.from(text)), headers: { "content-encoding": "gzip", vary: "Accept-Encoding" } };
}
