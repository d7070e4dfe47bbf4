import {
  AIMessage,
  HumanMessage,
  isAIMessage,
  isToolMessage,
  ToolMessage,
  type BaseMessage,
} from "@langchain/core/messages";
import * as fc from "fast-check";
import type { WireMessage } from "@millrace/testing/model-server";

const words = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom("", "ok", "Look at the notes.", "看一下笔记。") },
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 3000 }).map((length) => "word ".repeat(length / 5)) },
  { weight: 1, arbitrary: fc.integer({ min: 400, max: 700 }).map((length) => "😀".repeat(length)) },
);

const call = fc.record({ name: fc.constantFrom("read_file", "create_file"), text: words, result: words });
/** A reply: its words, its calls with their results, whether the results come in another order, and its ids were used before. */
const reply = fc.record({
  text: words,
  calls: fc.array(call, { maxLength: 3 }),
  reversed: fc.boolean(),
  sameIds: fc.boolean(),
});
const turn = fc.record({ request: words, replies: fc.array(reply, { maxLength: 4 }) });

/** A valid list of messages of up to eight turns, as a session holds them; the last turn may be under way. */
export const randomMessages: fc.Arbitrary<BaseMessage[]> = fc
  .array(turn, { minLength: 1, maxLength: 8 })
  .map((turns) => {
    const messages: BaseMessage[] = [];
    const nextId = (): string => `message-${messages.length}`;
    for (const { request, replies } of turns) {
      messages.push(new HumanMessage({ id: nextId(), content: request }));
      for (const { text, calls, reversed, sameIds } of replies) {
        const place = messages.length;
        const tool_calls = calls.map(({ name, text: content }, index) => ({
          id: sameIds ? `again-${index}` : `call-${place}-${index}`,
          name,
          args: { path: "notes.md", content, more: { lines: [content] } },
          type: "tool_call" as const,
        }));
        messages.push(
          new AIMessage({ id: nextId(), content: calls.length === 0 && text === "" ? "So." : text, tool_calls }),
        );
        const results = calls.map(({ name, result }, index) => ({ name, result, id: tool_calls[index]?.id ?? "" }));
        for (const { name, result, id } of reversed ? results.toReversed() : results) {
          messages.push(new ToolMessage({ id: nextId(), name, tool_call_id: id, content: result }));
        }
      }
    }
    return messages;
  });

/** The messages as a provider gets them. */
export function toWire(messages: readonly BaseMessage[]): WireMessage[] {
  return messages.map((message) => {
    const content = message.text;
    if (isToolMessage(message)) return { role: "tool", content, tool_call_id: message.tool_call_id };
    if (!isAIMessage(message)) return { role: message.getType() === "human" ? "user" : "system", content };
    const calls = (message.tool_calls ?? []).map((call) => ({
      id: call.id ?? "",
      type: "function" as const,
      function: { name: call.name, arguments: JSON.stringify(call.args) },
    }));
    return { role: "assistant", content, ...(calls.length === 0 ? {} : { tool_calls: calls }) };
  });
}
