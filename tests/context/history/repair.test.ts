import {
  AIMessage,
  HumanMessage,
  isAIMessage,
  isToolMessage,
  ToolMessage,
  type BaseMessage,
} from "@langchain/core/messages";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { interruptedResult, repairToolPairs } from "@millrace/engine/message-kinds";

const call = (id: string) => ({ id, name: "read_file", args: {}, type: "tool_call" as const });
const asks = (...ids: string[]) => new AIMessage({ content: "", tool_calls: ids.map(call) });
const result = (id: string) => new ToolMessage({ tool_call_id: id, content: `result ${id}` });

/** The rule of strict providers, written down a second time. */
function isStrict(messages: BaseMessage[]): boolean {
  for (let index = 0; index < messages.length; index += 1) {
    const message = messages[index];
    if (message === undefined || isToolMessage(message)) return false;
    const ids = isAIMessage(message) ? (message.tool_calls ?? []).map((asked) => asked.id) : [];
    const answers = messages.slice(index + 1, index + 1 + ids.length);
    if (!answers.every(isToolMessage)) return false;
    const given = new Set(answers.map((answer) => answer.tool_call_id));
    if (given.size !== ids.length || !ids.every((id) => id !== undefined && given.has(id))) return false;
    index += ids.length;
  }
  return true;
}

describe("repairing a message list", () => {
  it("gives a call that was cut off a result that says so, right after it", () => {
    const repaired = repairToolPairs([new HumanMessage("a"), asks("1", "2"), result("2"), new HumanMessage("b")]);
    expect(repaired.map((message) => message.getType())).toEqual(["human", "ai", "tool", "tool", "human"]);
    expect(repaired[2]?.content).toBe(interruptedResult);
    expect(repaired[3]?.content).toBe("result 2");
  });

  it("drops a result without a call and gives back a valid list as it is", () => {
    const valid = [new HumanMessage("a"), asks("1"), result("1"), new AIMessage("done")];
    expect(repairToolPairs(valid)).toBe(valid);
    expect(repairToolPairs([result("9"), ...valid]).map((message) => message.getType())).toEqual([
      "human",
      "ai",
      "tool",
      "ai",
    ]);
  });

  it("gives each call its own result when a server uses an id again", () => {
    const first = new ToolMessage({ tool_call_id: "0", content: "first" });
    const second = new ToolMessage({ tool_call_id: "0", content: "second" });
    const list = [new HumanMessage("a"), asks("0"), first, asks("9"), new HumanMessage("b"), asks("0"), second];
    const texts = repairToolPairs(list)
      .filter(isToolMessage)
      .map((message) => message.text);
    expect(texts).toEqual(["first", interruptedResult, "second"]);
  });

  it("makes any list valid, keeps every other message, and changes nothing the second time", () => {
    const ids = fc.uniqueArray(fc.constantFrom("1", "2", "3", "4"), { maxLength: 3 });
    const message = fc.oneof(
      fc.constant(null).map(() => new HumanMessage("hi")),
      ids.map((list) => asks(...list)),
      fc.constantFrom("1", "2", "3", "4").map(result),
    );
    fc.assert(
      fc.property(fc.array(message, { maxLength: 12 }), (messages) => {
        const repaired = repairToolPairs(messages);
        expect(isStrict(repaired)).toBe(true);
        expect(repaired.filter((one) => !isToolMessage(one))).toEqual(messages.filter((one) => !isToolMessage(one)));
        expect(repairToolPairs(repaired)).toBe(repaired);
      }),
    );
  });
});
