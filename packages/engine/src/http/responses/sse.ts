import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { setImmediate as nextTurn } from "node:timers/promises";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { isAppError } from "../../errors/errors.ts";
import type { Logger } from "../../logger.ts";
import type { HttpContext } from "../environment.ts";
import type { Frame } from "./frames.ts";
import { packedText } from "../middleware/request-basics.ts";

/** The SDK gives up after three silent intervals: this lets it notice a dead link within 15 s. */
const heartbeatMilliseconds = 5_000;
/** Without an empty line, which older clients (SDK 2.0.0) take for the end of an event. */
const heartbeat = ": heartbeat\n";
/** A reader that accepts nothing for this long is disconnected; it may return with `Last-Event-ID`. */
const stalledMilliseconds = 120_000;
/** Characters batched before a write that does not wait for the end of the event loop's turn. */
const batchCharacters = 64 * 1024;

/**
 * A reader is disconnected when the run emits this many characters while earlier ones are still unread; it returns with
 * `Last-Event-ID`. Unread events wait in the log, not in memory.
 */
const behindLimit = 1024 * 1024;
/** Minimum time a reader gets: a run may emit megabytes before even the fastest connection is checked again. */
const minReadingMs = 2_000;
const cutComment = ": cut off, too far behind; resume with Last-Event-ID\n";

/** What is streamed and how. */
export interface EventStream<Event> {
  /** A frame sent before all events. */
  opening?: string;
  /** The stream may stay silent for long: headers are sent at once, not with the first event. */
  mayBeQuiet?: boolean;
  /**
   * Opens the events, in batches; the signal ends them when the reader disconnects. An error of kind `server` means
   * that more follow after a restart.
   */
  open: (signal: AbortSignal) => AsyncIterable<Event[]>;
  /** The run's events from now on, to measure how far a slow reader falls behind. */
  tail: (signal: AbortSignal) => AsyncIterable<Event[]>;
  /** The length of an event's frame in characters. */
  measure: (event: Event) => number;
  /** Event to frame, `""` to leave it out. */
  frame: (event: Event) => Frame;
  headers: Record<string, string>;
  logger: Logger;
  /** Called when the reader disconnects before the end. */
  onDisconnect?: () => void;
}

/**
 * Streams server-sent events, written straight to node's response: everything ready goes out in one write, and a slow
 * reader delays only itself until it is disconnected. Ends with the events. If they continue without this reader, the
 * connection is broken off, so that the stream never looks complete. A heartbeat comment is sent every 5 s.
 */
export function sendEvents<Event>(context: HttpContext, stream: EventStream<Event>): Response {
  const headers = {
    "content-type": "text/event-stream",
    "cache-control": "no-cache, no-transform",
    "x-accel-buffering": "no",
    ...stream.headers,
  };
  // A HEAD request would stay open until the events end.
  if (context.req.method === "HEAD") return context.body(null, 200, headers);
  writeHead(context, headers);
  if (stream.mayBeQuiet === true) context.env.outgoing.flushHeaders();
  void pump(context, stream);
  return RESPONSE_ALREADY_SENT;
}

/** Writes the head: the middleware's headers and these. */
function writeHead(context: HttpContext, headers: Record<string, string>): void {
  const { outgoing } = context.env;
  context.res.headers.forEach((value, name) => outgoing.setHeader(name, value));
  markSent(context);
  outgoing.writeHead(200, headers);
}

/** Marks node's response as written by ourselves. */
export function markSent(context: HttpContext): void {
  // Set in two steps: onto a response with headers Hono would copy the mark, and the copy does not count as one.
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
  // It closed before anything was sent, so no `close` event will follow.
  if (outgoing.destroyed) onClose();
  const { write, flush } = createOutput(outgoing, stream.opening ?? "");
  const beats = setInterval(() => {
    if (!outgoing.writableNeedDrain) outgoing.write(heartbeat);
  }, heartbeatMilliseconds);
  if (stream.mayBeQuiet === true) flush();
  let isWhole = true;
  try {
    isWhole = await writeAll(context, stream, write, gone.signal);
    if (!isWhole) write(cutComment);
  } catch (error) {
    if (isAppError(error) && error.code === "server") isWhole = false;
    // A reader that left ended its own stream. Any other failure is ours, and breaking off tells the reader.
    else if (!gone.signal.aborted) {
      stream.logger.error({ err: error, path: context.req.path }, "stream_failed");
      write('event: error\ndata: {"error":"InternalServerError","message":"Internal Server Error"}\n\n');
    }
  } finally {
    clearInterval(beats);
    // From here on, a disconnect is not a request to stop the run.
    outgoing.off("close", onClose);
    flush();
    if (isWhole) outgoing.end();
    else breakOff(outgoing);
  }
}

/** Writes events as they come: true at their end, false once the reader is too far behind. */
async function writeAll<Event>(
  context: HttpContext,
  stream: EventStream<Event>,
  write: (frame: Frame) => boolean,
  gone: AbortSignal,
): Promise<boolean> {
  const { outgoing } = context.env;
  for await (const batch of stream.open(gone)) {
    for (const event of batch) {
      if (!write(stream.frame(event))) continue;
      // Checked within a batch too: a batch of large states would otherwise be in memory as a whole.
      if (outgoing.writableNeedDrain && !(await keepsUp(context, stream, gone))) return false;
    }
    if (outgoing.writableNeedDrain && !(await keepsUp(context, stream, gone))) return false;
  }
  return true;
}

/** Batches frames into one write per turn of the event loop. `write` returns whether it was written at once. */
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
      if (ready.length <= batchCharacters) {
        flushing ??= setImmediate(flush);
        return false;
      }
      flush();
      return true;
    }
    flush();
    outgoing.write(frame);
    return true;
  };
  return { write, flush };
}

/**
 * Waits until the reader has read what was written: true, or false once it is too far behind. Throws the signal's
 * reason on disconnect.
 */
async function keepsUp<Event>(
  { env: { outgoing } }: HttpContext,
  stream: EventStream<Event>,
  gone: AbortSignal,
): Promise<boolean> {
  const decided = new AbortController();
  const signal = AbortSignal.any([gone, decided.signal]);
  const stalled = setTimeout(() => outgoing.destroy(), stalledMilliseconds);
  const startedAt = performance.now();
  const hasHadTime = (): boolean => performance.now() - startedAt >= minReadingMs;
  const drained = once(outgoing, "drain", { signal }).then(() => true);
  try {
    return await Promise.race([drained, fallsBehind(stream, hasHadTime, signal).then(() => false)]);
  } finally {
    clearTimeout(stalled);
    decided.abort();
  }
}

/** Resolves when the run emits too much for a reader that has had its time; otherwise never. */
async function fallsBehind<Event>(
  stream: EventStream<Event>,
  hasHadTime: () => boolean,
  signal: AbortSignal,
): Promise<void> {
  let behind = 0;
  for await (const batch of stream.tail(signal)) {
    for (const event of batch) behind += stream.measure(event);
    if (behind <= behindLimit || !hasHadTime()) continue;
    // After a busy event loop, check the connection first: the reader may have read everything.
    for (let turn = 0; turn < 2; turn += 1) await nextTurn();
    return;
  }
  // The run emits nothing more: the reader may take its time.
  await new Promise<never>(() => undefined);
}

/**
 * Closes the connection without marking the response complete. After a clean end the SDK does not reconnect once the
 * run is over (2.0.0 never does), and the rest would be lost. A reader that reads nothing is dropped later.
 */
function breakOff(outgoing: ServerResponse): void {
  // A reader without events yet at least learns where to reconnect.
  outgoing.flushHeaders();
  const stalled = setTimeout(() => outgoing.destroy(), stalledMilliseconds).unref();
  outgoing.once("close", () => clearTimeout(stalled));
  outgoing.socket?.destroySoon();
}

/** Shows proxies and clients that a long wait is alive; JSON ignores newlines. */
const keepAliveMilliseconds = 1_000;

/** What is awaited and how. */
interface WaitedAnswer {
  /** Resolves to the response's JSON text; the signal aborts when the client disconnects. */
  work: (signal: AbortSignal) => Promise<string>;
  headers: Record<string, string>;
  /** The request has started something lasting, which a client's retry would start twice. */
  hasBegun?: boolean;
  logger: Logger;
  /** Called when the client disconnects before the response. */
  onDisconnect?: () => void;
}

/**
 * Sends JSON as soon as it is ready. After one second, a newline per second keeps the connection alive. Earlier
 * failures become ordinary errors; later ones, or those of something started, an `__error__` in the body.
 */
export async function sendWhenReady(context: HttpContext, answer: WaitedAnswer): Promise<Response> {
  const json = { "content-type": "application/json" };
  // A HEAD request would stay open until the result is ready.
  if (context.req.method === "HEAD") return context.body(null, 200, { ...json, ...answer.headers });
  const { outgoing } = context.env;
  const gone = new AbortController();
  const onClose = (): void => {
    gone.abort();
    answer.onDisconnect?.();
  };
  outgoing.once("close", onClose);
  // It closed before the wait began, so no `close` event will follow.
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
