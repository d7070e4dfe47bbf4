import { AIMessage, HumanMessage, SystemMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import {
  checkEnd,
  checkMessages,
  checkReply,
  checkStart,
  checkSystem,
  checkTokens,
} from "../../../src/context/integrity.ts";

const [system, human, words] = [new SystemMessage("s"), new HumanMessage("h"), new AIMessage("a")];
const call = new AIMessage({ content: "", tool_calls: [{ id: "1", name: "read_file", args: {} }] });
const result = new ToolMessage({ tool_call_id: "1", content: "r" });
const problemsOf = (found: readonly { problem: string }[]): string[] => found.map(({ problem }) => problem);
const described = { name: "a", description: "b" };
const identity = { name: "identity", text: "<!-- layer: identity -->\nYou are …" };

describe("what is looked at around a model call (CTX-20)", () => {
  it("reports nothing where all is well", () => {
    expect(checkStart({ history: [human], tools: [described] })).toEqual([]);
    expect(checkStart({ history: [], instruction: "do it", tools: [] })).toEqual([]);
    expect(checkSystem([identity], 30_000)).toEqual([]);
    expect(checkTokens(799, 1000)).toEqual([]);
    expect(checkMessages([system, human])).toEqual([]);
    expect(checkMessages([system, human, call, result, result])).toEqual([]);
    expect(checkReply(call)).toEqual([]);
    expect(checkEnd([call, result, words])).toEqual([]);
  });

  it("reports at the start what the model cannot work with", () => {
    const silent = { name: "a", description: " " };
    expect(problemsOf(checkStart({ history: [words], tools: [described, silent] }))).toEqual([
      "there is no message of the user",
      "two tools have the name a",
      "no description: a",
    ]);
  });

  it("reports a system text that lacks its protection, has an empty part, or is too long", () => {
    expect(problemsOf(checkSystem([{ name: "task", text: " " }], 30_001))).toEqual([
      "the identity and its protection are missing",
      "empty: task",
      "the system text has 30001 tokens; 30000 are enough",
    ]);
  });

  it.each([
    [799, []],
    [800, ["warning"]],
    [900, ["warning"]],
    [901, ["error"]],
    [2000, ["error"]],
  ])("warns of %i tokens of 1000", (tokens, severities) => {
    expect(checkTokens(tokens, 1000).map(({ severity }) => severity)).toEqual(severities);
  });

  it.each<[string, BaseMessage[]]>([
    ["the first message is no system message", [human]],
    ["the last message is neither of the user nor of a tool", [system, human, words]],
    ["message 3 has the role system", [system, human, system, human]],
    ["message 3 is a result without a call", [system, human, result]],
    ["message 4 is a result without a call", [system, human, words, result]],
  ])("reports that %s", (problem, messages) => {
    expect(problemsOf(checkMessages(messages))).toEqual([problem]);
  });

  it("reports calls that cannot be answered, and those that were not", () => {
    const nameless = new AIMessage({
      content: "",
      tool_calls: [
        { id: "1", name: "", args: {} },
        { id: "1", name: "a", args: {} },
      ],
    });
    expect(problemsOf(checkReply(nameless))).toEqual(["a call names no tool", "calls without an id of their own"]);
    expect(problemsOf(checkEnd([call]))).toEqual([
      "calls without a result: 1",
      "the turn does not end with words of the assistant",
    ]);
  });
});
