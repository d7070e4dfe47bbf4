import { HumanMessage, isHumanMessage, type BaseMessage } from "@langchain/core/messages";

const mark = "is_note";

/**
 * What the program itself says to a model within a request: no word of the user's, so no turn begins with it, and what
 * belongs to the turn, as the model's own thoughts, still goes back. Half a character is replaced.
 */
export function noteMessage(text: string): HumanMessage {
  return new HumanMessage({ content: text.toWellFormed(), additional_kwargs: { [mark]: true } });
}

/** Where the turn of a request began: the place of the user's last words; -1 where there are none. */
export function placeOfRequest(messages: readonly BaseMessage[]): number {
  return messages.findLastIndex((message) => isHumanMessage(message) && message.additional_kwargs[mark] !== true);
}
