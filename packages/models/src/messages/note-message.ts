import { HumanMessage, isHumanMessage, type BaseMessage } from "@langchain/core/messages";

const mark = "is_note";

/**
 * A note from the program within a request. It is not a user message, so it starts no turn, and the turn's reasoning is
 * still sent back. Lone surrogates are replaced.
 */
export function noteMessage(text: string): HumanMessage {
  return new HumanMessage({ content: text.toWellFormed(), additional_kwargs: { [mark]: true } });
}

/** Index of the user's last message, where the turn began; -1 if there is none. */
export function placeOfRequest(messages: readonly BaseMessage[]): number {
  return messages.findLastIndex((message) => isHumanMessage(message) && message.additional_kwargs[mark] !== true);
}
