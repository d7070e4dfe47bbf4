import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { setImmediate as nextTurn } from "node:timers/promises";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { isAppError } from "../../errors/errors.ts";
import type { Logger } from "../../logger.ts";
import type { HttpContext } from "../environment.ts";
import type { Frame } from "./frames.ts";
import { packedText } from "../middleware/request-basics.ts";

/** Often enough that the SDK, which gives up after three silent intervals, notices a dead link within 15 s. */
const heartbeatMilliseconds = 5_000;
/** Without an empty line: older clients (SDK 2.0.0) take that for the end of an event, of which there is none. */
const heartbeat = ": heartbeat\n";
/** A reader that takes nothing for so long is gone; it may come back with `Last-Event-ID`. */
const stalledMilliseconds = 120_000;
/** Characters gathered before they are written without waiting for the end of the turn of the event loop. */
const batchCharacters = 64 * 1024;

/**
 * A reader that does not take what was written while the run tells so many characters more is cut off: it comes back
 * with `Last-Event-ID` when it can. What it has not taken waits in the log meanwhile, not in memory.
 */
const behindLimit = 1024 * 1024;
/** So long it has at least: a run may tell megabytes before the connection of the quickest reader has been looked at again. */
const leastMilliseconds = 2_000;
const cutComment = ": cut off, too far behind; resume with Last-Event-ID\n";

/** What is streamed and how. */
export interface EventStream<Event> {
  /** A frame that comes before all events. */
  opening?: string;
  /** Nothing may come for a long time: the reader is answered at once, not with the first event. */
  mayBeQuiet?: boolean;
  /**
   * Opens the events, in batches as they are ready; the signal ends them when the reader goes. An error of the kind
   * `server` says that there is more, after a restart.
   */
  open: (signal: AbortSignal) => AsyncIterable<Event[]>;
  /** What the run tells from now on; to see how far a reader that takes nothing falls behind. */
  tail: (signal: AbortSignal) => AsyncIterable<Event[]>;
  /** The characters of an event's frame. */
  measure: (event: Event) => number;
  /** Event to frame, `""` to leave it out. */
  frame: (event: Event) => Frame;
  headers: Record<string, string>;
  logger: Logger;
  /** Called when the reader goes before the end. */
  onDisconnect?: () => void;
}

/**
 * Answers with server-sent events, written straight to node's response: everything that is ready goes out in one write,
 * and a slow reader holds back only itself, until it is cut off. Ends when the events end; where they go on without
 * this reader the connection breaks, so that nobody takes them for all. A heartbeat comment is sent every 5 s.
 */
export function sendEvents<Event>(context: HttpContext, stream: EventStream<Event>): Response {
  const headers = {
    "content-type": "text/event-stream",
    "cache-control": "no-cache, no-transform",
    "x-accel-buffering": "no",
    ...stream.headers,
  };
  // Who asks for the head alone would be kept until the events end.
  if (context.req.method === "HEAD") return context.body(null, 200, headers);
  writeHead(context, headers);
  if (stream.mayBeQuiet === true) context.env.outgoing.flushHeaders();
  void pump(context, stream);
  return RESPONSE_ALREADY_SENT;
}

/** Starts the answer with what the middleware set, and these. */
function writeHead(context: HttpContext, headers: Record<string, string>): void {
  const { outgoing } = context.env;
  context.res.headers.forEach((value, name) => outgoing.setHeader(name, value));
  markSent(context);
  outgoing.writeHead(200, headers);
}

/** Says that node's response is written by ourselves. */
export function markSent(context: HttpContext): void {
  // Set in two steps: onto a response that has headers Hono would copy the mark, and the copy does not count as one.
  context.res = undefined;
  context.res = RESPONSE_ALREADY_SENT;
}

async function pump<Event>(context: HttpContext, stream: EventStream<Event>): Promise<void> {
  const { outgoing } = context.env;
  const gone = new AbortController();
  const onClose = (): void => {
    if (outgoing.writableEnded) return;
    gone.abort();
    stream.onDisconnect?.();
  };
  outgoing.once("close", onClose);
  // It went before anything was sent: nobody will say so any more.
  if (outgoing.destroyed) onClose();
  const output = createOutput(outgoing, stream.opening ?? "");
  const { write, flush } = output;
  const beats = setInterval(() => {
    if (!outgoing.writableNeedDrain) outgoing.write(heartbeat);
  }, heartbeatMilliseconds);
  if (stream.mayBeQuiet === true) flush();
  let isWhole = true;
  try {
    isWhole = await writeAll(context, stream, output, gone.signal);
    if (!isWhole) write(cutComment);
  } catch (error) {
    if (isAppError(error) && error.code === "server") isWhole = false;
    // A reader that went away ends its own reading; anything else is ours and the reader is told that it was cut off.
    else if (!gone.signal.aborted) {
      stream.logger.error({ err: error, path: context.req.path }, "stream_failed");
      write('event: error\ndata: {"error":"InternalServerError","message":"Internal Server Error"}\n\n');
    }
  } finally {
    clearInterval(beats);
    // From here on its leaving is no wish to stop the run.
    outgoing.off("close", onClose);
    flush();
    if (isWhole) outgoing.end();
    else breakOff(outgoing);
  }
}

/** Writes the events as they come: true at their end, false as soon as the reader is too far behind. */
async function writeAll<Event>(
  context: HttpContext,
  stream: EventStream<Event>,
  { write, flushSoon }: ReturnType<typeof createOutput>,
  gone: AbortSignal,
): Promise<boolean> {
  const { outgoing } = context.env;
  for await (const batch of stream.open(gone)) {
    for (const event of batch) {
      if (!write(stream.frame(event))) continue;
      // Also within a batch: one of large states would otherwise be in memory as a whole.
      if (outgoing.writableNeedDrain && !(await keepsUp(context, stream, gone))) return false;
    }
    flushSoon();
    if (outgoing.writableNeedDrain && !(await keepsUp(context, stream, gone))) return false;
  }
  return true;
}

/** Gathers what is ready, so that a turn of the event loop ends in one write. `write` says whether it was written at once. */
function createOutput(outgoing: ServerResponse, opening: string) {
  let ready = opening;
  let flushing: NodeJS.Immediate | undefined;
  const flush = (): void => {
    clearImmediate(flushing);
    flushing = undefined;
    if (ready !== "") outgoing.write(ready);
    ready = "";
  };
  const write = (frame: Frame): boolean => {
    if (typeof frame === "string") {
      ready += frame;
      if (ready.length <= batchCharacters) return false;
      flush();
      return true;
    }
    flush();
    outgoing.write(frame);
    return true;
  };
  const flushSoon = (): void => {
    flushing ??= setImmediate(flush);
  };
  return { write, flush, flushSoon };
}

/**
 * Waits until the reader has taken what was written: true, or false as soon as it is too far behind. Throws the
 * signal's reason when it goes.
 */
async function keepsUp<Event>(
  { env: { outgoing } }: HttpContext,
  stream: EventStream<Event>,
  gone: AbortSignal,
): Promise<boolean> {
  const decided = new AbortController();
  const signal = AbortSignal.any([gone, decided.signal]);
  const stalled = setTimeout(() => outgoing.destroy(), stalledMilliseconds);
  const begun = performance.now();
  const hasHadTime = (): boolean => performance.now() - begun >= leastMilliseconds;
  const drained = once(outgoing, "drain", { signal }).then(() => true);
  try {
    return await Promise.race([drained, fallsBehind(stream, hasHadTime, signal).then(() => false)]);
  } finally {
    clearTimeout(stalled);
    decided.abort();
  }
}

/** Resolves when the run tells more to a reader that is too far behind and has had its time; otherwise never. */
async function fallsBehind<Event>(
  stream: EventStream<Event>,
  hasHadTime: () => boolean,
  signal: AbortSignal,
): Promise<void> {
  let behind = 0;
  for await (const batch of stream.tail(signal)) {
    for (const event of batch) behind += stream.measure(event);
    if (behind <= behindLimit || !hasHadTime()) continue;
    // Where the loop has been busy, the connection is looked at before: the reader may have taken all.
    for (let turn = 0; turn < 2; turn += 1) await nextTurn();
    return;
  }
  // The run tells no more: the reader may take its time.
  await new Promise<never>(() => undefined);
}

/**
 * Ends the connection without the mark that the answer is whole. After an end in good order the SDK does not come back where
 * the run is over meanwhile (2.0.0 never does), and the rest is lost. A reader that takes nothing is dropped later.
 */
function breakOff(outgoing: ServerResponse): void {
  // Who has had nothing yet learns at least where to come back.
  outgoing.flushHeaders();
  const stalled = setTimeout(() => outgoing.destroy(), stalledMilliseconds).unref();
  outgoing.once("close", () => clearTimeout(stalled));
  outgoing.socket?.destroySoon();
}

/** A proxy or client must see that a long wait lives; a newline is nothing in JSON. */
const keepAliveMilliseconds = 1_000;

/** What is awaited and how. */
interface WaitedAnswer {
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
