import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { EventSourceParserStream } from "eventsource-parser/stream";

/** One server-sent event as it came; `data` is parsed. */
export interface ReadEvent {
  event: string | undefined;
  id: string | undefined;
  data: unknown;
}

/** The events of a stream, one by one, as they come. Leaving the loop closes the connection. */
export async function* eventsOf(response: Response): AsyncGenerator<ReadEvent> {
  if (response.body === null) throw new Error("the response has no body");
  const events = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
  for await (const { event, id, data } of events) yield { event, id, data: JSON.parse(data) };
}

/** All events of a stream, when it has ended. */
export function readEvents(response: Response): Promise<ReadEvent[]> {
  return Array.fromAsync(eventsOf(response));
}

/** All text of an answer until its connection ends, and whether it ended in good order: then that was all. */
export async function readText(response: IncomingMessage): Promise<{ text: string; isWhole: boolean }> {
  let text = "";
  response.setEncoding("utf8").on("data", (part) => {
    text += String(part);
  });
  // A broken connection is an error of the response; that it was broken is the answer here.
  await once(response, "close").catch(() => undefined);
  return { text, isWhole: response.complete };
}
