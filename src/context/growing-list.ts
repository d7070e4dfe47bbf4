import type { BaseMessage } from "@langchain/core/messages";

/**
 * What a conversation comes to, message by message (a sum, whether one of them is so): worked out only for what has been added
 * since the list was last seen. For rules that are asked in every turn of conversations that may be long.
 */
export function overGrowingList<Value>(
  start: Value,
  step: (value: Value, message: BaseMessage) => Value,
): (messages: readonly BaseMessage[]) => Value {
  const known = new WeakMap<BaseMessage, { seen: readonly BaseMessage[]; value: Value }>();
  return (messages) => {
    const [first] = messages;
    if (first === undefined) return start;
    const before = known.get(first);
    const isLonger = before?.seen.every((message, index) => message === messages[index]) === true;
    const value = messages.slice(isLonger ? before.seen.length : 0).reduce(step, isLonger ? before.value : start);
    known.set(first, { seen: [...messages], value });
    return value;
  };
}
