import { randomUUID } from "node:crypto";
import type { MiddlewareHandler } from "hono";
import type { HttpContext, HttpEnvironment } from "../environment.ts";
import { AppError } from "../../errors/errors.ts";
import { promisify } from "node:util";
import { constants, gzip } from "node:zlib";

/** Gives the request its id (the client's `x-request-id` when it is a plain token) and the limit of its body in bytes. */
export function requestBasics(bodyLimit: number): MiddlewareHandler<HttpEnvironment> {
  return async (context, next) => {
    const given = context.req.header("x-request-id");
    const requestId = given !== undefined && /^[\w.-]{1,128}$/.test(given) ? given : randomUUID();
    context.set("requestId", requestId);
    context.set("bodyLimit", bodyLimit);
    context.header("X-Request-Id", requestId);
    return next();
  };
}

/** What tells whether the server is up has to answer when it has much to do. */
const healthPath = "/ok";

/**
 * Refuses what would be one request too many at the same time, with 429 and Retry-After. One handler counts for all
 * apps it is given to. A request counts until its answer has gone out whole, so those that follow a run count as long as they do.
 */
export function limitRequests(most: number): MiddlewareHandler<HttpEnvironment> {
  let open = 0;
  return async (context, next) => {
    if (context.req.path === healthPath) return next();
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
