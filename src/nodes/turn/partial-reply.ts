import { AIMessage, isAIMessage, RemoveMessage, type BaseMessage } from "@langchain/core/messages";
import { textOf } from "@millrace/engine/message-kinds";
import { AppError } from "@millrace/engine/errors/errors";

/**
 * The partial reply at the end of a session; several messages if its continuation was stopped too. Throws
 * `invalid_state` if there is none.
 */
export function partialReply(messages: readonly BaseMessage[]): [AIMessage, ...AIMessage[]] {
  const parts: AIMessage[] = [];
  for (const message of messages.toReversed()) {
    if (!isAIMessage(message) || message.additional_kwargs["is_partial"] !== true) break;
    parts.unshift(message);
  }
  const [first, ...rest] = parts;
  if (first === undefined) {
    throw new AppError(
      "invalid_state",
      "The session does not end with a partial reply; there is nothing to continue.",
      {
        suggestion: "Send a message without the context key partial.",
      },
    );
  }
  return [first, ...rest];
}

/**
 * The messages a regenerated reply replaces: a partial reply, or a stop's closing message. Throws `invalid_state` if
 * there is neither.
 */
export function replaceable(messages: readonly BaseMessage[]): AIMessage[] {
  const closing = closingMessageOf(messages);
  return closing === undefined ? partialReply(messages) : [closing];
}

/** The closing message that a stop wrote at the session's end; `undefined` if it ends otherwise. */
export function closingMessageOf(messages: readonly BaseMessage[]): AIMessage | undefined {
  const last = messages.at(-1);
  if (last === undefined || !isAIMessage(last)) return undefined;
  const { is_partial, stop_reason } = last.additional_kwargs;
  return stop_reason !== undefined && is_partial !== true ? last : undefined;
}

/** Updates that remove a partial reply from the session. */
export function removal(parts: readonly AIMessage[]): BaseMessage[] {
  return parts.flatMap(({ id }) => (id === undefined ? [] : [new RemoveMessage({ id })]));
}

/** A partial reply and its continuation as one complete message, in place of the first part. */
export function completedReply(parts: readonly [AIMessage, ...AIMessage[]], addition: string): BaseMessage[] {
  const [first, ...rest] = parts;
  const { stop_reason: _reason, tool_calls_pending: _pending, ...kwargs } = first.additional_kwargs;
  const whole = new AIMessage({
    ...(first.id === undefined ? {} : { id: first.id }),
    content: parts.map(({ content }) => textOf(content)).join("") + addition,
    additional_kwargs: { ...kwargs, is_partial: false, continued: true },
  });
  return [whole, ...removal(rest)];
}
