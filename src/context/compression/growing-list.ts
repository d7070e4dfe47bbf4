import type { BaseMessage } from "@langchain/core/messages";
import { beginsWith } from "@millrace/engine/message-list";

/**
 * Folds over a conversation incrementally: only messages added since the last call are processed. For checks made in
 * every turn of long conversations.
 */
export function overGrowingList<Value>(
  start: Value,
  step: (value: Value, message: BaseMessage) => Value,
): (messages: readonly BaseMessage[]) => Value {
  const known = new WeakMap<BaseMessage, { seen: BaseMessage[]; value: Value }>();
  return (messages) => {
    const [first] = messages;
    if (first === undefined) return start;
    const before = known.get(first);
    const kept = before !== undefined && beginsWith(messages, before.seen) ? before : { seen: [], value: start };
    for (const message of messages.slice(kept.seen.length)) {
      kept.value = step(kept.value, message);
      kept.seen.push(message);
    }
    if (kept !== before) known.set(first, kept);
    return kept.value;
  };
}
