import { ToolMessage, type AIMessage, type BaseMessage, type ToolCall } from "@langchain/core/messages";
import { isAIMessage, isToolMessage } from "./message-kinds.ts";

/** What the model reads for a call whose run was cut off before its result came. */
export const interruptedResult =
  "This tool call was interrupted before it had a result. Whether it had an effect is not known.";

/**
 * A list that a strict provider accepts (law 6): right after an assistant message with tool calls stands exactly one
 * result for each call, and no result stands anywhere else. Nothing valid is changed; a missing result says that the
 * call was interrupted, unless `missingResult` knows better. Applying it twice changes nothing. The given list is
 * returned when it is valid already.
 */
export function repairToolPairs(
  messages: BaseMessage[],
  missingResult: (call: ToolCall, index: number, message: AIMessage) => ToolMessage = interrupted,
): BaseMessage[] {
  if (isValid(messages)) return messages;
  const results = resultsOf(messages);
  const repaired: BaseMessage[] = [];
  for (const message of messages) {
    if (isToolMessage(message)) continue;
    repaired.push(message);
    if (!isAIMessage(message)) continue;
    for (const [index, call] of (message.tool_calls ?? []).entries()) {
      repaired.push(results.get(call) ?? missingResult(call, index, message));
    }
  }
  return repaired;
}

/** The result of each call: a result belongs to the nearest call before it, for some servers use an id again. */
function resultsOf(messages: readonly BaseMessage[]): Map<ToolCall, ToolMessage> {
  const open = new Map<string, ToolCall[]>();
  const results = new Map<ToolCall, ToolMessage>();
  for (const message of messages) {
    if (isToolMessage(message)) {
      const call = open.get(message.tool_call_id)?.pop();
      if (call !== undefined) results.set(call, message);
    } else if (isAIMessage(message)) {
      for (const call of message.tool_calls ?? []) {
        const id = call.id ?? "";
        open.set(id, [...(open.get(id) ?? []), call]);
      }
    }
  }
  return results;
}

function interrupted(call: ToolCall): ToolMessage {
  return new ToolMessage({
    tool_call_id: call.id ?? "",
    name: call.name,
    status: "error",
    content: interruptedResult,
  });
}

function isValid(messages: BaseMessage[]): boolean {
  let expected: string[] = [];
  for (const message of messages) {
    if (isToolMessage(message)) {
      const at = expected.indexOf(message.tool_call_id);
      if (at === -1) return false;
      expected = expected.filter((_, index) => index !== at);
      continue;
    }
    if (expected.length > 0) return false;
    if (isAIMessage(message)) expected = (message.tool_calls ?? []).map((call) => call.id ?? "");
  }
  return expected.length === 0;
}
