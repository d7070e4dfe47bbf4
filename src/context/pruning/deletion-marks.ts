import { isAIMessage, isToolMessage, type BaseMessage } from "@langchain/core/messages";
import { overGrowingList } from "../compression/growing-list.ts";
import { changeDeletionList, DeletionChange, writeTool } from "../../tools/conversation/deletion-list.ts";

/**
 * The short ids of the messages that the model has hidden, read from its own calls. A call counts if its result is a
 * success; of a reply without results, the first `open` calls count.
 */
export function deletionList(messages: readonly BaseMessage[], open = 0): string[] {
  if (!hidesMessages(messages)) return [];
  const list = new Set<string>();
  for (const [index, message] of messages.entries()) {
    if (!isAIMessage(message)) continue;
    for (const [place, call] of (message.tool_calls ?? []).entries()) {
      if (call.name !== writeTool) continue;
      const counts = index === messages.length - 1 ? place < open : succeeded(messages, index, call.id);
      const change = counts ? DeletionChange.safeParse(call.args) : undefined;
      if (change?.success === true) changeDeletionList(list, change.data);
    }
  }
  return [...list];
}

/** Whether the model has asked to hide messages, or to show them again. */
export const hidesMessages = overGrowingList(
  false,
  (found, message) =>
    found || (isAIMessage(message) && message.tool_calls?.some(({ name }) => name === writeTool) === true),
);

/** Whether the call has a result, among those right after its reply, and was not refused. */
function succeeded(messages: readonly BaseMessage[], reply: number, callId: string | undefined): boolean {
  for (let index = reply + 1; index < messages.length; index += 1) {
    const message = messages[index];
    if (message === undefined || !isToolMessage(message)) return false;
    if (message.tool_call_id === callId) return message.status !== "error";
  }
  return false;
}
