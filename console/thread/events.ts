import * as z from "zod/mini";
import { jsonText } from "../text/json-text.ts";

/** The events of the protocol that a conversation is made of. */

const Envelope = z.object({
  method: z.string(),
  event_id: z.optional(z.string()),
  seq: z.optional(z.number()),
  params: z.object({
    namespace: z.array(z.string()),
    timestamp: z.number(),
    data: z.unknown(),
  }),
});

/** An event with what all have in common; its data is read by who needs it. */
export interface ThreadEvent {
  method: string;
  seq: number | undefined;
  runId: string | undefined;
  namespace: readonly string[];
  timestamp: number;
  data: unknown;
}

/** Reads an event; `undefined` for what is none. */
export function readEvent(value: unknown): ThreadEvent | undefined {
  const read = z.safeParse(Envelope, value);
  if (!read.success) return undefined;
  const { method, event_id, seq, params } = read.data;
  const [runId] = event_id?.replace(/^synth:/u, "").split(":") ?? [];
  return { method, seq, runId, ...params };
}

const Subscribed = z.object({ type: z.literal("success"), result: z.object({ replayed_events: z.number() }) });

/** How many events of the past follow the answer to a subscription; `undefined` for what is no such answer. */
export function pastOf(value: unknown): number | undefined {
  return z.safeParse(Subscribed, value).data?.result.replayed_events;
}

const Content = z.object({
  type: z.string(),
  text: z.optional(z.string()),
  reasoning: z.optional(z.string()),
  id: z.nullish(z.string()),
  name: z.nullish(z.string()),
  args: z.optional(z.unknown()),
});

/** Events of a message. */
export const MessageData = z.discriminatedUnion("event", [
  z.object({ event: z.literal("message-start"), id: z.string(), role: z.string(), run_id: z.string() }),
  z.object({ event: z.literal("content-block-start"), index: z.number(), content: Content, run_id: z.string() }),
  z.object({
    event: z.literal("content-block-delta"),
    index: z.number(),
    delta: z.object({
      type: z.string(),
      text: z.optional(z.string()),
      reasoning: z.optional(z.string()),
      fields: z.optional(z.object({ args: z.optional(z.string()) })),
    }),
    run_id: z.string(),
  }),
  z.object({ event: z.literal("content-block-finish"), index: z.number(), content: Content, run_id: z.string() }),
  z.object({ event: z.literal("message-finish"), reason: z.optional(z.string()), run_id: z.string() }),
]);
export type MessageData = z.infer<typeof MessageData>;

/** Events of a call. */
export const ToolData = z.object({
  event: z.string(),
  tool_call_id: z.string(),
  tool_name: z.optional(z.string()),
  input: z.optional(z.unknown()),
  delta: z.optional(z.string()),
  output: z.optional(z.unknown()),
  message: z.optional(z.string()),
});

/** Events of a graph. */
export const LifecycleData = z.object({
  event: z.string(),
  graph_name: z.optional(z.string()),
  error: z.optional(z.string()),
  cause: z.optional(z.object({ type: z.string(), tool_call_id: z.optional(z.string()) })),
});

/** What a graph tells of its own. */
export const CustomData = z.object({ payload: z.looseObject({ type: z.string() }) });

/** The words of a tool's result, whatever form it has. */
export function outputText(output: unknown): string {
  if (typeof output === "string") return output;
  const WithContent = z.object({ content: z.unknown() });
  const content = z.safeParse(WithContent, output).data?.content;
  if (typeof content === "string") return content;
  return jsonText(content ?? output ?? "");
}

const Changed = z.object({ payload: z.object({ type: z.enum(["operation_recorded", "operation_undone"]) }) });

/** Whether more has changed than the events say: a run begins, asks or ends, a file has changed. */
export function isTurn({ method, namespace, data }: ThreadEvent): boolean {
  if (method === "lifecycle") return namespace.length === 0;
  return method.startsWith("input") || (method === "custom" && z.safeParse(Changed, data).success);
}
