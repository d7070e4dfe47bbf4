import { Renderings } from "../../responses/frames.ts";
import { toWireJson } from "../../responses/wire.ts";
import { z } from "zod";

/** A run's event on one of the protocol's channels, before it has a sequence number in the thread. */
export interface ProtocolBody {
  /** The channel's name, or `input.requested` and `input.answered` for the channel `input`. */
  method: string;
  /** The path of graphs and tasks (`node:task`), empty at the root. */
  namespace: string[];
  /** The node that emitted it, if the channel reports one. */
  node?: string | undefined;
  data: unknown;
}

/**
 * An event of the protocol. `seq` grows along the whole thread; `timestamp` is in milliseconds. Events outside a run
 * have no `seq`.
 */
export interface ProtocolEvent extends ProtocolBody {
  /** `<run id>:<seq>`; the SDK reads a `lifecycle` event's run from its id, which begins with `synth:`. */
  event_id?: string;
  seq?: number;
  timestamp: number;
}

/** All readers of a run share one state object. */
const renderedData = new Renderings<string>();

/** The event as JSON, as both transports send it. */
export function protocolText({ event_id, seq, method, namespace, timestamp, node, data }: ProtocolEvent): string {
  const head = JSON.stringify({ type: "event", event_id, seq, method });
  const place = JSON.stringify({ namespace, timestamp, ...(node === undefined ? {} : { node }) });
  return `${head.slice(0, -1)},"params":${place.slice(0, -1)},"data":${dataText(method, data)}}}`;
}

/** The event as a server-sent event. */
export function protocolFrame(event: ProtocolEvent): string {
  const id = event.event_id === undefined ? "" : `id: ${event.event_id}\n`;
  return `event: ${event.method}\n${id}data: ${protocolText(event)}\n\n`;
}

function dataText(method: string, data: unknown): string {
  if ((method !== "values" && method !== "updates") || typeof data !== "object" || data === null) {
    return toWireJson(data);
  }
  const known = renderedData.get(data);
  if (known !== undefined) return known;
  const text = toWireJson(data);
  renderedData.set(data, text, text.length);
  return text;
}

const channels = [
  "values",
  "updates",
  "messages",
  "tools",
  "lifecycle",
  "input",
  "checkpoints",
  "tasks",
  "custom",
] as const;

/** The events a reader of a thread wants. */
export const EventFilter = z
  .strictObject({
    channels: z
      .array(z.string())
      .min(1)
      .max(100)
      .describe(`${channels.join(", ")}, or custom:<name>`),
    namespaces: z
      .array(z.array(z.string()).max(100))
      .max(1_000)
      .optional()
      .describe("Only what is told at or below one of these places"),
    depth: z.int().nonnegative().optional().describe("How far below"),
    since: z.int().nonnegative().optional().describe("The seq of the last event the reader has"),
  })
  .meta({ ref: "EventStreamRequest" });
export type EventFilter = z.infer<typeof EventFilter>;

/** Whether a channel is one of the protocol's. */
export function isChannel(name: string): boolean {
  return channels.some((channel) => channel === name) || /^custom:./u.test(name);
}

/** Whether the filter selects the event. */
export function isWanted({ channels: wanted, namespaces, depth, since }: EventFilter, event: ProtocolEvent): boolean {
  if (since !== undefined && event.seq !== undefined && event.seq <= since) return false;
  const channel = channelOf(event);
  if (!wanted.includes(channel) && !(channel.startsWith("custom:") && wanted.includes("custom"))) return false;
  if (namespaces === undefined || namespaces.length === 0) return true;
  return namespaces.some(
    (prefix) =>
      isBelow(event.namespace, prefix) && (depth === undefined || event.namespace.length - prefix.length <= depth),
  );
}

const Named = z.looseObject({ name: z.string() });

function channelOf({ method, data }: ProtocolBody): string {
  if (method.startsWith("input.")) return "input";
  if (method !== "custom") return method;
  const name = Named.safeParse(data).data?.name;
  return name === undefined ? "custom" : `custom:${name}`;
}

/** A prefix segment without `:` matches all tasks of that node. */
function isBelow(namespace: readonly string[], prefix: readonly string[]): boolean {
  return prefix.every((part, at) => {
    const found = namespace[at];
    return found === part || (!part.includes(":") && found?.split(":")[0] === part);
  });
}
