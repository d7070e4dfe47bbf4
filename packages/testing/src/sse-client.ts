import { request, type IncomingMessage } from "node:http";
import { createParser } from "eventsource-parser";

/** One server-sent event as text. */
export interface SseEvent {
  event: string;
  id: string | undefined;
  data: string;
}

/** What is asked for, and who hears of each event in the turn it arrives. */
export interface SseRequest {
  url: string;
  method?: "GET" | "POST";
  /** JSON text. */
  body?: string;
  lastEventId?: string;
  onEvent: (event: SseEvent) => void;
  /** Called when the answer's head is there. */
  onOpen?: (headers: IncomingMessage["headers"]) => void;
  /** Milliseconds without a byte after which the connection is given up; default none. */
  silence?: number;
  signal?: AbortSignal;
}

/** How a connection ended: the server had no more, the link broke, or the server said no. */
export type SseEnd = { kind: "complete" } | { kind: "broken"; reason: string } | { kind: "refused"; status: number };

/**
 * Reads one stream over a connection of its own until it ends. Never throws: the result says how it ended. An incomplete
 * last event is left out.
 */
export function readSse(options: SseRequest): Promise<SseEnd> {
  const { promise, resolve } = Promise.withResolvers<SseEnd>();
  const broken = (reason: unknown): void => resolve({ kind: "broken", reason: String(reason) });
  const call = request(
    options.url,
    {
      method: options.method ?? "GET",
      agent: false,
      headers: {
        accept: "text/event-stream",
        ...(options.body === undefined ? {} : { "content-type": "application/json" }),
        ...(options.lastEventId === undefined ? {} : { "last-event-id": options.lastEventId }),
      },
      signal: options.signal,
    },
    (response) => {
      if (response.statusCode !== 200) {
        response.resume();
        resolve({ kind: "refused", status: response.statusCode ?? 0 });
        return;
      }
      options.onOpen?.(response.headers);
      const parser = createParser({
        onEvent: ({ event, id, data }) => options.onEvent({ event: event ?? "message", id, data }),
      });
      response.setEncoding("utf8");
      response.on("data", (text: string) => parser.feed(text));
      response.on("end", () => resolve(response.complete ? { kind: "complete" } : { kind: "broken", reason: "cut" }));
      response.on("error", broken);
      response.on("close", () => broken("closed"));
    },
  );
  if (options.silence !== undefined) call.setTimeout(options.silence, () => call.destroy(new Error("silent")));
  call.on("error", broken);
  call.end(options.body);
  return promise;
}
