import { AIMessage, isAIMessage, isToolMessage, type BaseMessage } from "@langchain/core/messages";
import { textOf } from "@millrace/engine/message-kinds";

/**
 * Removes marked messages, leaving `undefined` in their places. A reply is removed with its calls' results, a result
 * with its call, and a reply left empty too. A valid list (each call followed by its result) stays valid.
 */
export function deleteMessages(
  messages: readonly BaseMessage[],
  isMarked: (message: BaseMessage) => boolean,
): (BaseMessage | undefined)[] {
  const left: (BaseMessage | undefined)[] = [...messages];
  for (const [index, message] of messages.entries()) {
    if (isToolMessage(message)) continue;
    const calls = isAIMessage(message) ? (message.tool_calls ?? []) : [];
    const results = messages.slice(index + 1, index + 1 + calls.length);
    if (isMarked(message)) {
      left.fill(undefined, index, index + 1 + results.length);
      continue;
    }
    if (!isAIMessage(message) || !results.some(isMarked)) continue;
    const open = [...calls];
    for (const [place, result] of results.entries()) {
      const at = open.findIndex((call) => isToolMessage(result) && call.id === result.tool_call_id);
      if (!isMarked(result)) continue;
      open.splice(at, 1);
      left[index + 1 + place] = undefined;
    }
    const isEmpty = open.length === 0 && textOf(message.content) === "";
    left[index] = isEmpty ? undefined : withCalls(message, open);
  }
  return left;
}

/** A copy of a reply with other tool calls. */
export function withCalls(message: AIMessage, tool_calls: NonNullable<AIMessage["tool_calls"]>): AIMessage {
  const { id, name, content, response_metadata, usage_metadata } = message;
  // Clients' messages may have calls only in the provider's format.
  const { tool_calls: _raw, ...additional_kwargs } = message.additional_kwargs;
  return new AIMessage({
    content,
    tool_calls,
    additional_kwargs,
    response_metadata,
    id,
    name,
    usage_metadata,
  });
}
