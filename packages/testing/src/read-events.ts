import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { EventSourceParserStream } from "eventsource-parser/stream";

/** A received server-sent event; `data` is parsed. */
export interface ReadEvent {
  event: string | undefined;
  id: string | undefined;
  data: unknown;
}

/** Yields a stream's events as they arrive. Leaving the loop closes the connection. */
export async function* eventsOf(response: Response): AsyncGenerator<ReadEvent> {
  if (response.body === null) throw new Error("the response has no body");
  const events = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
  for await (const { event, id, data } of events) yield { event, id, data: JSON.parse(data) };
}

/** All events of a stream, after its end. */
export function readEvents(response: Response): Promise<ReadEvent[]> {
  return Array.fromAsync(eventsOf(response));
}

/** A response's text until the connection ends, and whether it ended normally. */
export async function readText(response: IncomingMessage): Promise<{ text: string; isWhole: boolean }> {
  let text = "";
  response.setEncoding("utf8").on("data", (part) => {
    text += String(part);
  });
  // A broken connection is an error here; `isWhole` reports it.
  await once(response, "close").catch(() => undefined);
  return { text, isWhole: response.complete };
}
