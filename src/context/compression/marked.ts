import { isHumanMessage, isToolMessage, type BaseMessage } from "@langchain/core/messages";
import { modelViewOf } from "@millrace/engine/sessions/messages/message-fields";
import { deleteMessages } from "../pruning/delete-messages.ts";

/** Whether a user wants a message to stay in view, whatever is compressed. */
export function isKept(message: BaseMessage): boolean {
  return modelViewOf(message) === "keep";
}

/** Whether a user wants no model to see a message. */
function isHidden(message: BaseMessage): boolean {
  return modelViewOf(message) === "hide";
}

/** The messages that users keep in view, with their calls and results. */
export function keptByUsers(messages: readonly BaseMessage[]): Set<BaseMessage> {
  return messages.some(isKept) ? withPartners(messages, isKept) : new Set();
}

/**
 * The messages without those that users hide, and their calls and results. The current request stays, since a turn
 * needs it.
 */
export function withoutHidden(messages: BaseMessage[], all: readonly BaseMessage[] = messages): BaseMessage[] {
  if (!messages.some(isHidden)) return messages;
  const request = all.findLast((message) => isHumanMessage(message));
  const left = deleteMessages(messages, (message) => message !== request && isHidden(message));
  return left.filter((message) => message !== undefined);
}

/** The wanted messages with their calls and results, in their order. */
export function withPartners(
  messages: readonly BaseMessage[],
  isWanted: (message: BaseMessage) => boolean,
): Set<BaseMessage> {
  const kept = new Set<BaseMessage>();
  for (let index = 0; index < messages.length; index += 1) {
    const message = messages[index];
    if (message === undefined) continue;
    const group = [message];
    while (isResult(messages[index + 1])) group.push(...messages.slice((index += 1), index + 1));
    if (group.some(isWanted)) for (const one of group) kept.add(one);
  }
  return kept;
}

/** Whether a message is the result of a call. */
export function isResult(message: BaseMessage | undefined): boolean {
  return message !== undefined && isToolMessage(message);
}
