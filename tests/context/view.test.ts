import { AIMessage, HumanMessage, isHumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { countMessages, countText } from "../../src/context/tokens/tokens.ts";
import { chooseWindow } from "../../src/context/view.ts";
import type { ConversationSummary } from "../../src/state.ts";

const summaryThrough = (id: string): ConversationSummary => ({
  goal: "",
  completed: [],
  todo: [],
  attempted_solutions: [],
  current_problem: "",
  key_decisions: [],
  through_message_id: id,
});

function turn(index: number, size: number): BaseMessage[] {
  return [
    new HumanMessage({ id: `h${index}`, content: "x".repeat(size) }),
    new AIMessage({
      id: `a${index}`,
      content: "",
      tool_calls: [{ id: `c${index}`, name: "read_file", args: {}, type: "tool_call" }],
    }),
    new ToolMessage({ id: `t${index}`, tool_call_id: `c${index}`, content: "y".repeat(size) }),
    new AIMessage({ id: `r${index}`, content: "done" }),
  ];
}

describe("estimating tokens", () => {
  it.each([
    ["", 0],
    ["abcdefgh", 2],
    ["你好世界再见", 4],
    ["ab你好cd世", 3],
  ])("%j costs %i", (text, tokens) => {
    expect(countText(text)).toBe(tokens);
  });
});

describe("choosing what of the history is shown", () => {
  it("shows everything that fits", () => {
    const history = [...turn(1, 40), ...turn(2, 40)];
    expect(chooseWindow(history, { summary: null, fixedTokens: 0, limit: 10_000 })).toEqual({
      first: 0,
      tokens: countMessages(history),
    });
  });

  it("begins after what the summary speaks about", () => {
    const history = [...turn(1, 40), ...turn(2, 40)];
    expect(chooseWindow(history, { summary: summaryThrough("r1"), fixedTokens: 0, limit: 10_000 }).first).toBe(4);
  });

  it("leaves out the oldest turns of a history that is too long, never half a turn and never the last request", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 4000 }), { minLength: 1, maxLength: 8 }),
        fc.integer({ min: 200, max: 4000 }),
        (sizes, limit) => {
          const history = sizes.flatMap((size, index) => turn(index, size));
          const { first, tokens } = chooseWindow(history, { summary: null, fixedTokens: 50, limit });
          const begins = history[first];
          expect(begins !== undefined && isHumanMessage(begins)).toBe(true);
          expect(tokens).toBe(countMessages(history.slice(first)));
          const isLastTurn = first === history.length - 4;
          if (50 + tokens > limit * 0.9) expect(isLastTurn).toBe(true);
          // What is too long is brought down to 80 % (COMP-14), what is not stays whole.
          if (first > 0 && !isLastTurn) expect(50 + tokens).toBeLessThanOrEqual(limit * 0.8);
          expect(first === 0).toBe(50 + countMessages(history) <= limit * 0.9 || sizes.length === 1);
        },
      ),
    );
  });
});
