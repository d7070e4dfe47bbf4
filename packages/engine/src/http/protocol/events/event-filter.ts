import { z } from "zod";
import type { ProtocolBody, ProtocolEvent } from "./protocol-event.ts";

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

/** What a reader of a thread's record wants of it. */
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

/** Whether a reader with this filter is told of the event. */
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

/** A part of the prefix without `:` also stands for all tasks of that node. */
function isBelow(namespace: readonly string[], prefix: readonly string[]): boolean {
  return prefix.every((part, at) => {
    const found = namespace[at];
    return found === part || (!part.includes(":") && found?.split(":")[0] === part);
  });
}
