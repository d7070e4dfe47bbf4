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
