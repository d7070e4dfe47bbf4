import { AIMessage, isAIMessage, RemoveMessage, type BaseMessage } from "@langchain/core/messages";
import { textOf } from "@millrace/engine/message-kinds";
import { AppError } from "@millrace/engine/errors/errors";

/**
 * The reply at the end of a session that a stop cut off: one message, or several when its continuation was stopped too.
 * Throws `invalid_state` when the session ends with anything else.
 */
export function partialReply(messages: readonly BaseMessage[]): [AIMessage, ...AIMessage[]] {
  const parts: AIMessage[] = [];
  for (const message of messages.toReversed()) {
    if (!isAIMessage(message) || message.additional_kwargs["is_partial"] !== true) break;
    parts.unshift(message);
  }
  const [first, ...rest] = parts;
  if (first === undefined) {
    throw new AppError("invalid_state", "The session does not end with a partial reply; nothing can be taken up.", {
      suggestion: "Send a message without the context key partial.",
    });
  }
  return [first, ...rest];
}

/**
 * What a new reply takes the place of at the end of a session: a partial reply, or the words that a stop has left where
 * there was none worth keeping. Throws `invalid_state` when the session ends with anything else.
 */
export function replaceable(messages: readonly BaseMessage[]): AIMessage[] {
  const words = wordsOfStop(messages);
  return words === undefined ? partialReply(messages) : [words];
}

/** The words of the program with which a stop has ended the session's last turn; `undefined` when it ends otherwise. */
export function wordsOfStop(messages: readonly BaseMessage[]): AIMessage | undefined {
  const last = messages.at(-1);
  if (last === undefined || !isAIMessage(last)) return undefined;
  const { is_partial, stop_reason } = last.additional_kwargs;
  return stop_reason !== undefined && is_partial !== true ? last : undefined;
}

/** Removes a partial reply from the session, so that it can be given anew. */
export function removal(parts: readonly AIMessage[]): BaseMessage[] {
  return parts.flatMap(({ id }) => (id === undefined ? [] : [new RemoveMessage({ id })]));
}

/** A partial reply and what was added to it, as one complete message in the place of the first part. */
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
