import type { Logger } from "../../logger.ts";
import type { HttpContext } from "../environment.ts";
import { sendEvents } from "./sse.ts";

/** An endless feed: the current state, then every change. */
interface News<Item> {
  /** The path of the stream. */
  path: string;
  /** Yields the current state, then changes; the signal ends it when the reader disconnects. */
  follow: (signal: AbortSignal) => AsyncIterable<Item[]>;
  frame: (item: Item) => string;
  logger: Logger;
}

/** Streams a feed as server-sent events; it may be silent for long, and slow readers are disconnected. */
export function sendNews<Item>(context: HttpContext, { path, follow, frame, logger }: News<Item>): Response {
  return sendEvents(context, {
    mayBeQuiet: true,
    open: follow,
    tail: follow,
    measure: (item) => frame(item).length,
    frame,
    headers: { "content-location": path },
    logger,
  });
}

/** An item as a server-sent event of its type. */
export function newsFrame(item: { type: string }): string {
  return `event: ${item.type}\ndata: ${JSON.stringify(item)}\n\n`;
}
