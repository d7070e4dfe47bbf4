import { z } from "zod";

const Called = z.object({
  type: z.literal("agentic_loop.tool_called"),
  tool_call_id: z.string(),
  tool_name: z.string(),
  arguments: z.unknown(),
});
const Ended = z.object({
  type: z.literal("agentic_loop.tool_result"),
  tool_call_id: z.string(),
  tool_name: z.string(),
  success: z.boolean(),
  result_preview: z.string(),
});
const OfCall = z.discriminatedUnion("type", [Called, Ended]);

/**
 * A call of our own loop in the form of the wire's mode `tools`; `undefined` for any other custom event. The output is
 * a preview: the whole is the message that follows.
 */
export function toToolEvent(custom: unknown): object | undefined {
  const { data: event } = OfCall.safeParse(custom);
  if (event === undefined) return undefined;
  const call = { toolCallId: event.tool_call_id, name: event.tool_name };
  if (event.type === "agentic_loop.tool_called") {
    return { event: "on_tool_start", ...call, input: JSON.stringify(event.arguments) };
  }
  return event.success
    ? { event: "on_tool_end", ...call, output: event.result_preview }
    : { event: "on_tool_error", ...call, error: event.result_preview };
}
