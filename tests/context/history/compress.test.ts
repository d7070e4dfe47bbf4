import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fitSummary, plainSummary, weigh } from "../../../src/context/compression/compress.ts";

const history = [
  new HumanMessage({ id: "1", content: "Read notes.md" }),
  new AIMessage({ id: "2", content: "", tool_calls: [{ id: "c", name: "read_file", args: {}, type: "tool_call" }] }),
  new ToolMessage({ id: "3", tool_call_id: "c", content: "text" }),
  new AIMessage({ id: "4", content: "It says text." }),
  new HumanMessage({ id: "5", content: "Thanks" }),
];

describe("a summary", () => {
  const text = fc.string({ maxLength: 600 });
  const list = fc.array(text, { maxLength: 12 });
  it("always fits its length", () => {
    fc.assert(
      fc.property(
        fc.record({
          goal: text,
          completed: list,
          todo: list,
          attempted_solutions: list,
          current_problem: text,
          key_decisions: list,
        }),
        (summary) => {
          expect(JSON.stringify(fitSummary(summary)).length).toBeLessThanOrEqual(1000);
        },
      ),
    );
  });

  it.each(["", '"', "word"])("fits its length also when a model has repeated %j without end", (word) => {
    const many = Array<string>(20_000).fill(word);
    const answer = { goal: "", todo: [], attempted_solutions: [], current_problem: "", key_decisions: [] };
    const fitted = fitSummary({ ...answer, completed: many });
    expect(JSON.stringify(fitted).length).toBeLessThanOrEqual(1000);
    expect(fitted.completed.length).toBeGreaterThan(100);
  });

  it("can be made without a model", () => {
    expect(plainSummary(history, null)).toMatchObject({
      goal: "Read notes.md",
      completed: ["It says text."],
      current_problem: "Thanks",
    });
  });
});

describe("weighing the window", () => {
  it.each([
    [0, "normal", 0],
    [599, "normal", 99],
    [600, "hint", 100],
    [799, "hint", 299],
    [800, "full", 300],
    [1200, "full", 700],
  ])("%i of 1,000 tokens is %s, with %i to remove", (tokens, level, to_remove) => {
    expect(weigh(tokens, 1000)).toEqual({ tokens, limit: 1000, ratio: tokens / 1000, level, to_remove });
  });
});
