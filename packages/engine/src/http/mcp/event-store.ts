import type { EventStore } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";

/** Events that a client can come back to, for all its streams. */
const mostEvents = 1_000;

/** The newest events of one client's streams, so that one whose connection was cut misses nothing (`Last-Event-ID`). */
export function createEventStore(): EventStore {
  const events: { id: string; streamId: string; message: Parameters<EventStore["storeEvent"]>[1] }[] = [];
  let last = 0;
  return {
    async storeEvent(streamId, message) {
      last += 1;
      const id = String(last);
      events.push({ id, streamId, message });
      if (events.length > mostEvents) events.shift();
      return id;
    },
    async getStreamIdForEventId(id) {
      return events.find((event) => event.id === id)?.streamId;
    },
    async replayEventsAfter(id, { send }) {
      const at = events.findIndex((event) => event.id === id);
      const streamId = events[at]?.streamId ?? "";
      for (const event of events.slice(at + 1)) if (event.streamId === streamId) await send(event.id, event.message);
      return streamId;
    },
  };
}
