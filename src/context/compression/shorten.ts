import { isHumanMessage, isToolMessage, type BaseMessage } from "@langchain/core/messages";
import { cutMessage } from "./cut-message.ts";
import { repairToolPairs } from "@millrace/engine/message-kinds";

/** What is left when a conversation was too long for the model. */
export interface Shortened {
  /** What the model is shown now. */
  shown: BaseMessage[];
  /** What was left out, in order. */
  left: BaseMessage[];
}

/**
 * The newest `keep` messages, and always the last request of the user. Calls keep their results; a text longer than
 * `longest` characters keeps its beginning and its end. What the user wrote is the task, and stays. The given messages
 * are not changed (law 5).
 */
export function shorten(messages: readonly BaseMessage[], keep: number, longest: number): Shortened {
  let first = Math.max(0, messages.length - keep);
  // A result without its call would be dropped; its call is worth more than the count.
  while (first > 0 && isResult(messages[first])) first -= 1;
  const request = messages.findLastIndex((message) => isHumanMessage(message));
  const keepsRequest = request !== -1 && request < first;
  const left = messages.filter((_, index) => index < first && index !== request);
  const kept = [...(keepsRequest ? messages.slice(request, request + 1) : []), ...messages.slice(first)];
  return {
    shown: repairToolPairs(
      kept.map((message) => (isHumanMessage(message) ? message : cutMessage(message, { longest }))),
    ),
    left,
  };
}

function isResult(message: BaseMessage | undefined): boolean {
  return message !== undefined && isToolMessage(message);
}
