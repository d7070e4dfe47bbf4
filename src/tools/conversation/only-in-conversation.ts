import { failure } from "../runtime/result.ts";
import type { ToolResult } from "../runtime/tool.ts";

/** The result of a call that only a person can answer, where none is asked: a tool run by hand. */
export function onlyInConversation(tool: string): ToolResult {
  return failure(
    "unavailable_tool_mode",
    `${tool} puts a question to the user, which only a turn of the conversation can do.`,
    "Ask the user directly.",
  );
}
