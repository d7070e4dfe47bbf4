import { eventsOf } from "@millrace/testing/read-events";
import type { TestServer } from "../test-server.ts";

/** An event of the protocol as it came. */
export interface WireEvent {
  type: "event";
  event_id: string;
  seq: number;
  method: string;
  params: { namespace: string[]; timestamp: number; node?: string; data: Record<string, unknown> };
}

/** An answer to a command as it came. */
export interface WireAnswer {
  type: "success" | "error";
  id: number | null;
  result: Record<string, unknown>;
  error: string;
  message: string;
  meta: { thread_id: string; applied_through_seq: number };
}

/** All channels of the protocol. */
export const allChannels = [
  "values",
  "updates",
  "messages",
  "tools",
  "lifecycle",
  "input",
  "checkpoints",
  "tasks",
  "custom",
];

/** Whether the event says that the thread's run is over. */
export function isEnd({ method, params }: WireEvent): boolean {
  const ends = ["completed", "failed", "interrupted"];
  return method === "lifecycle" && params.namespace.length === 0 && ends.includes(String(params.data["event"]));
}

/** Sends a command over HTTP. */
export async function command(
  server: TestServer,
  threadId: string,
  method: string,
  params: object,
  headers: Record<string, string> = {},
): Promise<WireAnswer> {
  const response = await server.send("POST", `/threads/${threadId}/commands`, { id: 7, method, params }, headers);
  // Each test says what it looks at.
  return (await response.json()) as WireAnswer;
}

/** A reader of a thread's record. */
export interface EventStreamReader {
  response: Response;
  /** Reads until an event is one that is looked for, and gives all that were read. */
  until(isLast: (event: WireEvent) => boolean): Promise<WireEvent[]>;
  leave(): Promise<void>;
}

/** Opens the record over server-sent events, all channels unless channels are given. */
export async function openEvents(
  server: TestServer,
  threadId: string,
  filter: object = {},
  headers: Record<string, string> = {},
): Promise<EventStreamReader> {
  const body = { channels: allChannels, ...filter };
  const response = await server.send("POST", `/threads/${threadId}/stream/events`, body, headers);
  const events = eventsOf(response)[Symbol.asyncIterator]();
  return {
    response,
    async until(isLast) {
      const read: WireEvent[] = [];
      for (;;) {
        const { value, done } = await events.next();
        if (done === true) throw new Error(`the stream ended after ${read.length} events`);
        const event = value.data as WireEvent;
        read.push(event);
        if (isLast(event)) return read;
      }
    },
    leave: async () => {
      await events.return?.(undefined);
    },
  };
}
