import { isAIMessage, isToolMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";

/** What the model reads for a call whose run was cut off before its result came. */
export const interruptedResult =
  "This tool call was interrupted before it had a result. Whether it had an effect is not known.";

/**
 * A list that a strict provider accepts (law 6): right after an assistant message with tool calls stands exactly one
 * result for each call, and no result stands anywhere else. Nothing valid is changed; a missing result says that the call
 * was interrupted. Applying it twice changes nothing. The given list is returned when it is valid already.
 */
export function repairToolPairs(messages: BaseMessage[]): BaseMessage[] {
  if (isValid(messages)) return messages;
  const results = new Map<string, ToolMessage>();
  for (const message of messages) {
    if (isToolMessage(message) && !results.has(message.tool_call_id)) results.set(message.tool_call_id, message);
  }
  const repaired: BaseMessage[] = [];
  for (const message of messages) {
    if (isToolMessage(message)) continue;
    repaired.push(message);
    for (const call of isAIMessage(message) ? (message.tool_calls ?? []) : []) {
      const id = call.id ?? "";
      const result = results.get(id);
      results.delete(id);
      repaired.push(
        result ?? new ToolMessage({ tool_call_id: id, name: call.name, status: "error", content: interruptedResult }),
      );
    }
  }
  return repaired;
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
