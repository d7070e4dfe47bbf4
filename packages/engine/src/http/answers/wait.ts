import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { isAppError } from "../../errors/errors.ts";
import type { Logger } from "../../logger.ts";
import type { HttpContext } from "../environment.ts";
import { packedText } from "./pack.ts";
import { writeHead } from "./sse.ts";

/** A proxy or client must see that a long wait lives; a newline is nothing in JSON. */
const keepAliveMilliseconds = 1_000;

/** What is awaited and how. */
export interface WaitedAnswer {
  /** Gives the JSON text of the answer; the signal ends the waiting when the client goes. */
  work: (signal: AbortSignal) => Promise<string>;
  headers: Record<string, string>;
  /** The request has begun something that goes on: a client that sent it again after a failure would begin it twice. */
  hasBegun?: boolean;
  logger: Logger;
  /** Called when the client goes before the answer. */
  onDisconnect?: () => void;
}

/**
 * Answers with JSON as soon as it is there. From the first second on a newline a second keeps the connection alive; a
 * failure before that becomes an ordinary error answer, later, or of what has begun, an `__error__` in the body.
 */
export async function sendWhenReady(context: HttpContext, answer: WaitedAnswer): Promise<Response> {
  const json = { "content-type": "application/json" };
  // Who asks for the head alone would be kept until the answer is there.
  if (context.req.method === "HEAD") return context.body(null, 200, { ...json, ...answer.headers });
  const { outgoing } = context.env;
  const gone = new AbortController();
  const onClose = (): void => {
    gone.abort();
    answer.onDisconnect?.();
  };
  outgoing.once("close", onClose);
  // It went before the waiting began: nobody will say so any more.
  if (outgoing.destroyed) onClose();
  const start = (whole: Record<string, string> = {}): void => {
    if (outgoing.headersSent) return;
    writeHead(context, { ...json, ...whole, ...answer.headers });
  };
  const keepAlive = setInterval(() => {
    start();
    outgoing.write("\n");
  }, keepAliveMilliseconds);
  try {
    const text = await answer.work(gone.signal);
    // No newline may come between this and the end.
    clearInterval(keepAlive);
    const { body, headers } = outgoing.headersSent ? { body: text, headers: {} } : await packedText(context, text);
    start({ ...headers, "content-length": String(Buffer.byteLength(body)) });
    outgoing.off("close", onClose);
    outgoing.end(body);
  } catch (error) {
    outgoing.off("close", onClose);
    if (gone.signal.aborted) return RESPONSE_ALREADY_SENT;
    if (!outgoing.headersSent && answer.hasBegun !== true) throw error;
    start();
    answer.logger.error({ err: error, path: context.req.path }, "wait_failed");
    const message = isAppError(error) ? error.message : "Internal Server Error";
    outgoing.end(JSON.stringify({ __error__: { error: "InternalServerError", message } }));
  } finally {
    clearInterval(keepAlive);
  }
  return RESPONSE_ALREADY_SENT;
}
