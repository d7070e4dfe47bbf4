import type { Logger } from "../../logger.ts";
import type { HttpContext } from "../environment.ts";
import { sendEvents } from "./sse.ts";

/** News of something that has no end: what is so now, and every change. */
interface News<Item> {
  /** The path of the stream. */
  path: string;
  /** What is so now, then what changes; the signal ends it when the reader goes. */
  follow: (signal: AbortSignal) => AsyncIterable<Item[]>;
  frame: (item: Item) => string;
  logger: Logger;
}

/** Answers with news as server-sent events; nothing may come for a long time, and who falls behind is cut off. */
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
