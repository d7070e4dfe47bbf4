import { isHumanMessage, type BaseMessage } from "@langchain/core/messages";
import { textOf } from "@millrace/engine/message-kinds";

/** Whether the last message is the user's. */
export function endsWithRequest(messages: readonly BaseMessage[]): boolean {
  const last = messages.at(-1);
  return last !== undefined && isHumanMessage(last);
}

/** The text of the user's last message. */
export function lastUserText(messages: readonly BaseMessage[]): string {
  return textOf(messages.findLast((message) => isHumanMessage(message))?.content ?? "");
}
