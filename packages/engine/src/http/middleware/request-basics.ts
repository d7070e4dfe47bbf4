import { randomUUID } from "node:crypto";
import type { MiddlewareHandler } from "hono";
import type { HttpContext, HttpEnvironment } from "../environment.ts";
import { AppError } from "../../errors/errors.ts";
import type { Logger } from "../../logger.ts";
import { promisify } from "node:util";
import { constants, gzip } from "node:zlib";

/** What the basics of requests go by. */
interface RequestBasics {
  /** Bytes. */
  bodyLimit: number;
  /** Plain answers that take longer are logged. */
  slowSeconds: number;
  logger: Logger;
}

/** Milliseconds for which refusals are counted, and how many of them the log tells: anybody can be refused any number of times. */
const refusalWindow = 60_000;
const mostRefusals = 20;

/**
 * Gives the request its id (the client's `x-request-id` when it is a plain token) and the limit of its body in bytes, and
 * logs it: one that is refused for who asks or for how much there is to do, one whose plain answer was slow, and at
 * `debug` every one. What streams or waits is as long as its run.
 */
export function requestBasics({ bodyLimit, slowSeconds, logger }: RequestBasics): MiddlewareHandler<HttpEnvironment> {
  let window = { since: 0, refused: 0 };
  return async (context, next) => {
    const given = context.req.header("x-request-id");
    const requestId = given !== undefined && /^[\w.-]{1,128}$/.test(given) ? given : randomUUID();
    context.set("requestId", requestId);
    context.set("bodyLimit", bodyLimit);
    context.header("X-Request-Id", requestId);
    const begun = performance.now();
    await next();
    const { outgoing, incoming } = context.env;
    const duration = performance.now() - begun;
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
        if (window.refused > mostRefusals) logger.warn({ more: window.refused - mostRefusals }, "requests_refused");
        window = { since: now, refused: 0 };
      }
      window.refused += 1;
      if (window.refused <= mostRefusals) {
        const has_key =
          context.req.header("x-api-key") !== undefined || context.req.header("authorization") !== undefined;
        logger.warn({ ...about, from: incoming.socket.remoteAddress, has_key }, "request_refused");
      }
    } else if (isSlow) logger.warn(about, "request_slow");
    else logger.debug(about, "request");
  };
}

/** What tells whether the server is up has to answer when it has much to do. */
const healthPaths = new Set(["/ok", "/health/live", "/health/ready", "/metrics"]);

/**
 * Refuses what would be one request too many at the same time, with 429 and Retry-After. One handler counts for all
 * apps it is given to. A request counts until its answer has gone out whole, so those that follow a run count as long as they do.
 */
export function limitRequests(most: number): MiddlewareHandler<HttpEnvironment> {
  let open = 0;
  return async (context, next) => {
    if (healthPaths.has(context.req.path)) return next();
    if (open >= most) {
      throw new AppError("rate_limit", `The server answers ${most} requests at the same time, and this is one more.`, {
        suggestion: "Send it again in a moment.",
        recoverable: true,
      });
    }
    const { incoming, outgoing, acceptSocket } = context.env;
    // What becomes a WebSocket is answered on the connection itself.
    const line = acceptSocket === undefined ? outgoing : incoming.socket;
    // Whose client has left meanwhile tells no end any more.
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
 * Packs long plain answers with gzip for who takes it. Events are written past it, to node's own response, and so are
 * never packed.
 */
export const packAnswers: MiddlewareHandler<HttpEnvironment> = async (context, next) => {
  await next();
  // To look at the body itself costs a short answer as much as all the rest.
  if (context.get("isLong") !== true || context.env.outgoing.headersSent || !takesGzip(context)) return;
  const { res } = context;
  if (!text.test(res.headers.get("content-type") ?? "") || res.headers.has("content-encoding")) return;
  const bytes = await packed(new Uint8Array(await res.arrayBuffer()));
  const answer = new Response(new Uint8Array(bytes), res);
  answer.headers.set("content-encoding", "gzip");
  answer.headers.delete("content-length");
  answer.headers.append("vary", "Accept-Encoding");
  // Set in two steps: onto a response that has headers Hono would copy them.
  context.res = undefined;
  context.res = answer;
};

/** Bytes from which on an answer is packed: below, it goes out in a few packets anyway. */
export const packedFrom = 4096;

const pack = promisify(gzip);

/** Whether the client takes gzip (RFC 9110, section 12.5.3): by name or as anything, and not with a weight of 0. */
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

/** The bytes packed, quickly rather than as small as can be; off the event loop. */
function packed(bytes: Uint8Array): Promise<Buffer> {
  return pack(bytes, { level: constants.Z_BEST_SPEED });
}

/** A text as it goes out: packed where it is long and the client takes that, with the headers that say so. */
export async function packedText(
  context: HttpContext,
  text: string,
): Promise<{ body: string | Buffer; headers: Record<string, string> }> {
  if (text.length < packedFrom || !takesGzip(context)) return { body: text, headers: {} };
  return { body: await packed(Buffer.from(text)), headers: { "content-encoding": "gzip", vary: "Accept-Encoding" } };
}
