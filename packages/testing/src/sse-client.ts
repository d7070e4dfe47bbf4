import { request, type IncomingMessage } from "node:http";
import { createParser } from "eventsource-parser";

/** One server-sent event as text. */
export interface SseEvent {
  event: string;
  id: string | undefined;
  data: string;
}

/** A request, and a callback for each event on arrival. */
export interface SseRequest {
  url: string;
  method?: "GET" | "POST";
  /** JSON text. */
  body?: string;
  lastEventId?: string;
  onEvent: (event: SseEvent) => void;
  /** Called when the response headers have arrived. */
  onOpen?: (headers: IncomingMessage["headers"]) => void;
  /** Milliseconds without data after which to give up; default none. */
  silence?: number;
  signal?: AbortSignal;
}

/** How a connection ended: complete, broken, or refused by the server. */
export type SseEnd = { kind: "complete" } | { kind: "broken"; reason: string } | { kind: "refused"; status: number };

/**
 * Reads one stream over its own connection to the end. Never throws: the result says how it ended. Discards an
 * incomplete last event.
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
