import { isDeepStrictEqual } from "node:util";
import { AIMessageChunk, type AIMessageChunkFields } from "@langchain/core/messages";
import { z } from "zod";
import type { RunEvent } from "../../run-events.ts";
import { isPlainAIMessageChunk } from "../../message-kinds.ts";
import { parseRow } from "../rows.ts";
import { LRUCache } from "lru-cache";

/** Kinds of events by number, as rows keep them. Only ever add at the end: the place in the list is on disk. */
const kinds = [
  "metadata",
  "error",
  "values",
  "updates",
  "messages",
  "messages/metadata",
  "messages/partial",
  "messages/complete",
  "custom",
  "debug",
  "tasks",
  "checkpoints",
  "tools",
  "checkpoint",
  "events",
  "lifecycle",
  "feedback",
] as const satisfies readonly RunEvent["event"][];

/**
 * One group of events as a plain value. Tokens of one message repeat the same metadata and nearly the same chunk, so
 * what repeats stands once in `shared` and an event is `[kind, namespace, data, …]` with places in `shared`.
 */
const Batch = z.object({
  /** Ids when they are not consecutive; else they follow from the first one. */
  ids: z.array(z.number()).optional(),
  /**
   * When they were emitted: the first time, then for each further event how much later. Absent where times are not
   * known.
   */
  times: z.array(z.number()).optional(),
  shared: z.array(z.unknown()),
  events: z.array(z.array(z.unknown())),
});
export type Batch = z.infer<typeof Batch>;

/** What an `AIMessageChunk` is made of beside its content; empty fields are left out. `undefined`: not packable. */
function chunkFields(chunk: AIMessageChunk): Partial<AIMessageChunkFields> | undefined {
  const fields: Partial<AIMessageChunkFields> = {};
  if (chunk.id !== undefined) fields.id = chunk.id;
  if (chunk.name !== undefined) fields.name = chunk.name;
  if (Object.keys(chunk.additional_kwargs).length > 0) fields.additional_kwargs = chunk.additional_kwargs;
  if (Object.keys(chunk.response_metadata).length > 0) fields.response_metadata = chunk.response_metadata;
  if (chunk.usage_metadata !== undefined) fields.usage_metadata = chunk.usage_metadata;
  // With call chunks the constructor derives the calls again; reading them here would parse every prefix.
  if ((chunk.tool_call_chunks?.length ?? 0) > 0) return { ...fields, tool_call_chunks: chunk.tool_call_chunks ?? [] };
  if ((chunk.invalid_tool_calls?.length ?? 0) > 0) return undefined;
  if ((chunk.tool_calls?.length ?? 0) > 0) fields.tool_calls = chunk.tool_calls ?? [];
  return fields;
}

/** Collects values that may repeat; `place` gives where an equal one stands. */
class SharedValues {
  readonly list: unknown[] = [];
  readonly #known = new Map<unknown, number>();
  /** The newest value per key: tokens of parallel nodes come interleaved. */
  readonly #newest = new Map<string, number>();

  place(key: string, value: unknown): number {
    const known = this.#known.get(value);
    if (known !== undefined) return known;
    const newest = this.#newest.get(key);
    const isRepeated = newest !== undefined && isDeepStrictEqual(this.list[newest], value);
    const place = isRepeated ? newest : this.list.push(value) - 1;
    this.#known.set(value, place);
    this.#newest.set(key, place);
    return place;
  }
}

function packData(data: unknown, shared: SharedValues): unknown[] {
  // A subclass has fields of its own; the codec keeps it whole.
  const fields = isPlainAIMessageChunk(data) ? chunkFields(data) : undefined;
  if (!isPlainAIMessageChunk(data) || fields === undefined) return [data];
  return [data.content, shared.place(`chunk ${data.id ?? ""}`, fields)];
}

function packEvent(event: RunEvent, shared: SharedValues): unknown[] {
  const kind = kinds.indexOf(event.event);
  if (event.event === "metadata" || event.event === "error") return [kind, event.data];
  const namespace = shared.place(`namespace ${event.namespace.join("|")}`, event.namespace);
  if (event.event === "messages") {
    const metadata = shared.place(`metadata ${event.namespace.join("|")}`, event.metadata);
    return [kind, namespace, metadata, ...packData(event.data, shared)];
  }
  if (event.event === "messages/partial") return [kind, namespace, ...packData(event.data, shared)];
  return [kind, namespace, event.data];
}

/** The plain value for a group of events, at least one, for the codec to write. */
export function packEvents(events: readonly RunEvent[]): Batch {
  const shared = new SharedValues();
  const first = events[0]?.id ?? 0;
  const packed = events.map((event) => packEvent(event, shared));
  const isConsecutive = events.every((event, index) => event.id === first + index);
  const times = events.flatMap(({ at }) => at ?? []);
  const areTimed = times.length === events.length;
  return {
    ...(isConsecutive ? {} : { ids: events.map((event) => event.id) }),
    ...(areTimed && { times: times.map((time, index) => time - (times[index - 1] ?? 0)) }),
    shared: shared.list,
    events: packed,
  };
}

/** A chunk or whole value again from `[data]` or `[content, place of its other fields]`. */
function unpackData([data, place]: unknown[], shared: unknown[]): unknown {
  if (place === undefined) return data;
  // Written by `packData`: the content of an AIMessageChunk and its other fields.
  return new AIMessageChunk({ ...(shared[Number(place)] as AIMessageChunkFields), content: data as string });
}

function unpackEvent(id: number, [kind, ...rest]: unknown[], shared: unknown[]): RunEvent {
  const event = kinds[Number(kind)];
  const at = (index: number): unknown => shared[Number(rest[index])];
  const fields =
    event === "metadata" || event === "error"
      ? { data: rest[0] }
      : event === "messages"
        ? { namespace: at(0), data: unpackData(rest.slice(2), shared), metadata: at(1) }
        : event === "messages/partial"
          ? { namespace: at(0), data: unpackData(rest.slice(1), shared) }
          : { namespace: at(0), data: rest[1] };
  // The row was written by `packEvent` from a RunEvent of this kind, and the codec has checked its bytes.
  return { id, event, ...fields } as RunEvent;
}

/** The events of a row that `packEvents` made; `firstId` is the id of the first. Throws `storage_corrupt` on anything else. */
export function unpackEvents(value: unknown, firstId: number): RunEvent[] {
  const { ids, times, shared, events } = parseRow(Batch, "run_events", value);
  let at = 0;
  return events.map((event, index) => {
    const unpacked = unpackEvent(ids?.[index] ?? firstId + index, event, shared);
    if (times === undefined) return unpacked;
    at += times[index] ?? 0;
    return { ...unpacked, at };
  });
}

/** So many groups are remembered at most; each only as long as a reader holds one of its events. */
const groupsKept = 512;

/**
 * Groups of events that have readers now, decoded once for all of them: a hundred readers of one run hold the same
 * events, and each is rendered once. A group never changes, so entries are only evicted to bound memory.
 */
export class DecodedGroups {
  readonly #groups = new LRUCache<string, WeakRef<RunEvent[]>>({ max: groupsKept });
  readonly #decoding = new Map<string, Promise<RunEvent[]>>();
  /** An event keeps its whole group alive, or the next reader would decode it again beside the first. */
  readonly #groupOf = new WeakMap<RunEvent, RunEvent[]>();

  /** The group of this name; `decode` is called when no reader holds it. Rejects as `decode` does. */
  get(name: string, decode: () => Promise<RunEvent[]>): Promise<RunEvent[]> {
    const known = this.#groups.get(name)?.deref();
    if (known !== undefined) return Promise.resolve(known);
    const running = this.#decoding.get(name) ?? this.#decode(name, decode);
    this.#decoding.set(name, running);
    return running;
  }

  async #decode(name: string, decode: () => Promise<RunEvent[]>): Promise<RunEvent[]> {
    try {
      const events = await decode();
      for (const event of events) this.#groupOf.set(event, events);
      this.#groups.set(name, new WeakRef(events));
      return events;
    } finally {
      this.#decoding.delete(name);
    }
  }
}
