import {
  AIMessage,
  isAIMessage,
  isHumanMessage,
  isToolMessage,
  ToolMessage,
  type BaseMessage,
} from "@langchain/core/messages";
import { repairToolPairs } from "./repair.ts";
import { textOf } from "./tokens.ts";

/** What is left when a conversation was too long for the model. */
export interface Shortened {
  /** What the model is shown now. */
  shown: BaseMessage[];
  /** What was left out, in order. */
  left: BaseMessage[];
}

/**
 * The newest `keep` messages, and always the last request of the user (COMP-15, ERR-07). Calls keep their results; a text
 * longer than `longest` characters keeps its beginning and its end. The given messages are not changed (law 5).
 */
export function shorten(messages: readonly BaseMessage[], keep: number, longest: number): Shortened {
  let first = Math.max(0, messages.length - keep);
  // A result without its call would be dropped; its call is worth more than the count.
  while (first > 0 && isResult(messages[first])) first -= 1;
  const request = messages.findLastIndex((message) => isHumanMessage(message));
  const keepsRequest = request !== -1 && request < first;
  const left = messages.filter((_, index) => index < first && index !== request);
  const kept = [...(keepsRequest ? messages.slice(request, request + 1) : []), ...messages.slice(first)];
  return { shown: repairToolPairs(kept.map((message) => cut(message, longest))), left };
}

function isResult(message: BaseMessage | undefined): boolean {
  return message !== undefined && isToolMessage(message);
}

/** Only results and replies are cut: what the user wrote is the task. */
function cut(message: BaseMessage, longest: number): BaseMessage {
  const text = textOf(message.content);
  if (text.length <= longest) return message;
  const half = Math.floor(longest / 2);
  // Half a character is none: some providers refuse it.
  const begin = text.slice(0, half).replace(/\p{Cs}$/u, "");
  const end = text.slice(-half).replace(/^\p{Cs}/u, "");
  const content = `${begin}\n[… ${text.length - begin.length - end.length} characters left out …]\n${end}`;
  const { id, name, additional_kwargs } = message;
  const fields = {
    content,
    additional_kwargs,
    ...(id === undefined ? {} : { id }),
    ...(name === undefined ? {} : { name }),
  };
  if (isToolMessage(message)) {
    const { tool_call_id, status } = message;
    return new ToolMessage({ ...fields, tool_call_id, ...(status === undefined ? {} : { status }) });
  }
  if (isAIMessage(message)) return new AIMessage({ ...fields, tool_calls: message.tool_calls ?? [] });
  return message;
}
