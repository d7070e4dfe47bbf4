import type { MiddlewareHandler } from "hono";
import type { HttpEnvironment } from "../environment.ts";
import { packed, takesGzip } from "../answers/pack.ts";

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
