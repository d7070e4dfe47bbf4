import type { ToolMessage } from "@langchain/core/messages";
import { z } from "zod";
import { isBaseMessage, isToolMessage, messageText } from "../../../message-kinds.ts";
import type { RunEvent } from "../../../run-events.ts";
import type { ProtocolBody } from "./protocol-event.ts";

/** The tool calls of a run, as events of the channel `tools`. */
export interface ToolCalls {
  /** What our loop tells of its calls, or LangGraph of those of its own tools. */
  tell(event: RunEvent): ProtocolBody[];
}

/** What our loop tells when a call begins; `agent`: an agent has made it, inside a call of the turn. */
const Called = z.looseObject({
  type: z.literal("agentic_loop.tool_called"),
  tool_call_id: z.string(),
  tool_name: z.string(),
  arguments: z.unknown(),
  agent: z.unknown().optional(),
});
/** LangGraph's own mode `tools`. */
const OwnTool = z.discriminatedUnion("event", [
  z.looseObject({
    event: z.literal("on_tool_start"),
    toolCallId: z.string(),
    name: z.string(),
    input: z.unknown().optional(),
  }),
  z.looseObject({ event: z.literal("on_tool_event"), toolCallId: z.string(), data: z.unknown().optional() }),
  z.looseObject({ event: z.literal("on_tool_end"), toolCallId: z.string(), output: z.unknown().optional() }),
  z.looseObject({ event: z.literal("on_tool_error"), toolCallId: z.string(), error: z.unknown().optional() }),
]);

/**
 * Follows the calls of one run. Each begins once and ends once, whatever told it; a result without a beginning is that
 * of a call that never ran, and is told in the state alone. `placeOf` says under which namespace readers find a call.
 */
export function createToolCalls(placeOf: (namespace: string[]) => string[]): ToolCalls {
  const begun = new Map<string, string[]>();
  const ended = new Set<string>();

  const tools = (namespace: string[], data: object): ProtocolBody => ({ method: "tools", namespace, data });
  const begin = (id: string, namespace: string[], data: object): ProtocolBody[] => {
    if (begun.has(id)) return [];
    begun.set(id, namespace);
    return [tools(namespace, { event: "tool-started", tool_call_id: id, ...data })];
  };
  const end = (id: string, data: object): ProtocolBody[] => {
    const namespace = begun.get(id);
    if (namespace === undefined || ended.has(id)) return [];
    ended.add(id);
    return [tools(namespace, { tool_call_id: id, ...data })];
  };
  const ofOwnTool = (namespace: string[], data: unknown): ProtocolBody[] => {
    const told = OwnTool.safeParse(data).data;
    switch (told?.event) {
      case undefined:
        return [];
      case "on_tool_start":
        return begin(told.toolCallId, namespace, { tool_name: told.name, input: told.input });
      case "on_tool_event": {
        const delta = typeof told.data === "string" ? told.data : JSON.stringify(told.data ?? null);
        return [tools(namespace, { event: "tool-output-delta", tool_call_id: told.toolCallId, delta })];
      }
      case "on_tool_end":
        return end(told.toolCallId, { event: "tool-finished", output: told.output });
      case "on_tool_error":
        return end(told.toolCallId, { event: "tool-error", message: messageOf(told.error) });
    }
  };

  return {
    tell(event) {
      if (event.event === "custom") {
        const called = Called.safeParse(event.data).data;
        if (called === undefined) return [];
        const namespace = called.agent === undefined ? placeOf(event.namespace) : event.namespace;
        return begin(called.tool_call_id, namespace, { tool_name: called.tool_name, input: called.arguments });
      }
      if (event.event === "messages" && isBaseMessage(event.data) && isToolMessage(event.data)) {
        return end(event.data.tool_call_id, resultOf(event.data));
      }
      return event.event === "tools" ? ofOwnTool(placeOf(event.namespace), event.data) : [];
    },
  };
}

function resultOf(message: ToolMessage): object {
  return message.status === "error"
    ? { event: "tool-error", message: messageText(message) }
    : { event: "tool-finished", output: message };
}

const WithMessage = z.looseObject({ message: z.string() });

function messageOf(error: unknown): string {
  return WithMessage.safeParse(error).data?.message ?? (typeof error === "string" ? error : "The tool failed.");
}
