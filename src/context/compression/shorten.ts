import { isHumanMessage, isToolMessage, type BaseMessage } from "@langchain/core/messages";
import { cutMessage } from "./cut-message.ts";
import { repairToolPairs } from "@millrace/engine/message-kinds";

/** A conversation shortened for the model. */
export interface Shortened {
  /** Messages still shown. */
  shown: BaseMessage[];
  /** Messages left out, in order. */
  left: BaseMessage[];
}

/**
 * The newest `keep` messages and the user's last message. Calls keep their results; texts over `maxLength` characters
 * keep beginning and end, except the user's. Originals are unchanged (law 5).
 */
export function shorten(messages: readonly BaseMessage[], keep: number, maxLength: number): Shortened {
  let first = Math.max(0, messages.length - keep);
  // A result needs its call, even if that exceeds the count.
  while (first > 0 && isResult(messages[first])) first -= 1;
  const request = messages.findLastIndex((message) => isHumanMessage(message));
  const keepsRequest = request !== -1 && request < first;
  const left = messages.filter((_, index) => index < first && index !== request);
  const kept = [...(keepsRequest ? messages.slice(request, request + 1) : []), ...messages.slice(first)];
  return {
    shown: repairToolPairs(
      kept.map((message) => (isHumanMessage(message) ? message : cutMessage(message, { maxLength }))),
    ),
    left,
  };
}

function isResult(message: BaseMessage | undefined): boolean {
  return message !== undefined && isToolMessage(message);
}
