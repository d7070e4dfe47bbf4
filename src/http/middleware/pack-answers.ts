import type { MiddlewareHandler } from "hono";
import type { HttpEnvironment } from "../environment.ts";
import { packed, packedFrom, takesGzip } from "../pack.ts";

const text = /^(?:text\/(?!event-stream)|application\/(?:[\w.+-]+\+)?(?:json|javascript|xml|yaml))/u;

/**
 * Packs plain answers with gzip for who takes it (API-12). Events are written past it, to node's own response, and so are never
 * packed.
 */
export const packAnswers: MiddlewareHandler<HttpEnvironment> = async (context, next) => {
  await next();
  if (context.env.outgoing.headersSent || !takesGzip(context)) return;
  const { res } = context;
  if (!text.test(res.headers.get("content-type") ?? "") || res.headers.has("content-encoding")) return;
  if (res.body === null) return;
  const bytes = new Uint8Array(await res.arrayBuffer());
  const isPacked = bytes.byteLength >= packedFrom;
  const answer = new Response(isPacked ? new Uint8Array(await packed(bytes)) : bytes, res);
  if (isPacked) {
    answer.headers.set("content-encoding", "gzip");
    answer.headers.delete("content-length");
    answer.headers.append("vary", "Accept-Encoding");
  }
  // Set in two steps: onto a response that has headers Hono would copy them.
  context.res = undefined;
  context.res = answer;
};
