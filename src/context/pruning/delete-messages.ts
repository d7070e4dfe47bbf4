import { AIMessage, isAIMessage, isToolMessage, type BaseMessage } from "@langchain/core/messages";
import { textOf } from "@millrace/engine/message-kinds";

/**
 * The list without the messages that are marked, in the same places: `undefined` where one is left out. A reply goes
 * with the results of its calls, a result with its call, and a reply of which nothing is left goes too. The given list
 * is valid (every call has its result right after it); so is what is left.
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

/** A copy of a reply with other calls. */
export function withCalls(message: AIMessage, tool_calls: NonNullable<AIMessage["tool_calls"]>): AIMessage {
  const { id, name, content, response_metadata, usage_metadata } = message;
  // Messages of clients may carry calls only in the provider's own form.
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
