import { isHumanMessage, type BaseMessage } from "@langchain/core/messages";
import { textOf } from "@millrace/engine/message-text";

/** The user's own words of this turn. */
export function requestOf(messages: readonly BaseMessage[]): string {
  return textOf(messages.findLast((message) => isHumanMessage(message))?.content ?? "");
}
