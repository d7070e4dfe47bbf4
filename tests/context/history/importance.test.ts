import { AIMessage, HumanMessage, SystemMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { importanceOf, levelOf } from "../../../src/context/compression/importance.ts";

const user = (text: string) => new HumanMessage(text);
const says = (text: string, kwargs: Record<string, unknown> = {}) =>
  new AIMessage({ content: text, additional_kwargs: kwargs });
const calls = (name: string, id = name) => new AIMessage({ content: "", tool_calls: [{ id, name, args: {} }] });
const result = (name: string, status: "success" | "error" = "success", id = name) =>
  new ToolMessage({ content: "x", tool_call_id: id, name, status });
const classes = (...messages: BaseMessage[]) => messages.map((_, at) => importanceOf(messages, at));

describe("how much a message is worth (MSG-05)", () => {
  it.each([
    ["system texts", [new SystemMessage("You help.")], ["must_keep"]],
    ["results, with their call", [calls("read"), result("read")], ["must_keep", "must_keep"]],
    [
      "a failure that was tried again, with its call",
      [calls("read", "1"), result("read", "error", "1"), calls("read", "2"), result("read", "success", "2")],
      ["discardable", "discardable", "must_keep", "must_keep"],
    ],
    [
      "a failure that was left as it is",
      [calls("read"), result("read", "error"), user("Never mind the file"), calls("read"), result("read")],
      ["must_keep", "must_keep", "compressible", "must_keep", "must_keep"],
    ],
    [
      "two calls of which one failed",
      [
        new AIMessage({ content: "", tool_calls: ["a", "b"].map((name) => ({ id: name, name, args: {} })) }),
        result("a"),
        result("b", "error"),
        calls("b"),
        result("b"),
      ],
      ["must_keep", "must_keep", "discardable", "must_keep", "must_keep"],
    ],
    [
      "goals that the user confirms",
      [says("The design goals: gain 20 dB."), user("Yes."), says("Good.")],
      ["must_keep", "must_keep", "compressible"],
    ],
    ["goals in Chinese", [says("设计目标:增益 20 dB,请确认"), user("确认")], ["must_keep", "must_keep"]],
    [
      "goals without a confirmation",
      [says("What are the design goals?"), user("A low noise")],
      ["compressible", "compressible"],
    ],
    ["what a simulation shows", [says("The simulation shows a bandwidth of 1 MHz.")], ["prefer"]],
    ["advice on a parameter", [says("Raise R1 from 1k to 10k.")], ["prefer"]],
    ["a decision", [user("Let's use the folded cascode.")], ["prefer"]],
    ["a decision in Chinese", [user("我们决定用第二种方案")], ["prefer"]],
    ["ordinary talk", [user("Hello"), says("Hello, how can I help?")], ["compressible", "compressible"]],
    [
      "a yes, and the same yes again",
      [says("Shall I?"), user("ok"), says("And this?"), user("好的"), says("Done.")],
      ["compressible", "compressible", "compressible", "discardable", "compressible"],
    ],
    [
      "an answer that was cut off, when another came",
      [user("Tell me"), says("It is", { is_partial: true }), user("Again"), says("It is so.")],
      ["compressible", "discardable", "compressible", "compressible"],
    ],
    [
      "an answer that was cut off and may go on",
      [user("Tell me"), says("It is", { is_partial: true })],
      ["compressible", "compressible"],
    ],
  ])("%s", (_name, messages, expected) => {
    expect(classes(...messages)).toEqual(expected);
  });

  it("has three levels, with the last two classes merged", () => {
    expect((["must_keep", "prefer", "compressible", "discardable"] as const).map(levelOf)).toEqual([
      "HIGH",
      "MEDIUM",
      "LOW",
      "LOW",
    ]);
  });

  it("never tears a call from its results, whatever failed and was tried again", () => {
    const turn = fc.array(
      fc.record({ names: fc.array(fc.constantFrom("a", "b"), { minLength: 1, maxLength: 3 }), fails: fc.boolean() }),
      { maxLength: 6 },
    );
    let kept = 0;
    fc.assert(
      fc.property(turn, (steps) => {
        const messages = steps.flatMap(({ names, fails }, step) => [
          new AIMessage({
            content: "",
            tool_calls: names.map((name, at) => ({ id: `${step}.${at}`, name, args: {} })),
          }),
          ...names.map((name, at) => result(name, fails ? "error" : "success", `${step}.${at}`)),
        ]);
        const found = classes(...messages);
        let call = "";
        for (const [at, message] of messages.entries()) {
          if (message.type === "ai") call = found[at] ?? "";
          else if (found[at] === "must_keep" && call !== "must_keep") return false;
          else if (call === "must_keep") kept += 1;
        }
        return true;
      }),
    );
    expect(kept).toBeGreaterThan(0);
  });
});
