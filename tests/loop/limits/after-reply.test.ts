import { AIMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { afterReply, afterTools, type Decision, type TurnProgress } from "../../../src/loop/after-reply.ts";

const round = { kind: "file_move", prompt: "Go on moving." } as const;
const plain: TurnProgress = {
  closing: null,
  forced: 0,
  maxForced: 5,
  uncalled: null,
  neededRound: () => null,
  isIncomplete: () => false,
};
const uncalled = { tool: "list_files", prompt: "Call it.", wasPrompted: false };
const end = (reason: string): Decision => ({ kind: "end", reason }) as Decision;

describe("what follows a reply", () => {
  const rows: [string, { text: string; calls: number }, Partial<TurnProgress>, Decision][] = [
    ["a plain answer ends the turn", { text: "Done.", calls: 0 }, {}, end("answered")],
    ["calls are followed", { text: "", calls: 2 }, {}, { kind: "calls" }],
    ["calls of a closing reply are not", { text: "", calls: 2 }, { closing: "timeout" }, end("timeout")],
    [
      "a closing reply ends, whatever is owed",
      { text: "So far.", calls: 0 },
      { closing: "guardrail", neededRound: () => round },
      end("guardrail"),
    ],
    ["what is owed is asked for", { text: "Half.", calls: 0 }, { neededRound: () => round }, { kind: "force", round }],
    [
      "also when it was asked for before",
      { text: "Half.", calls: 0 },
      { forced: 4, neededRound: () => round },
      { kind: "force", round },
    ],
    [
      "but not beyond the limit",
      { text: "Half.", calls: 0 },
      { forced: 5, neededRound: () => round, isIncomplete: () => true },
      end("guardrail"),
    ],
    ["a forced reply that owes nothing more is an answer", { text: "All.", calls: 0 }, { forced: 2 }, end("answered")],
    [
      "a repetition while work is left is a loop",
      { text: "Half.", calls: 0 },
      { forced: 2, isIncomplete: () => true },
      end("guardrail"),
    ],
    ["silence to the end is a loop too", { text: " ", calls: 0 }, { forced: 5 }, end("guardrail")],
    [
      "a chosen tool that was not called is asked for once more",
      { text: "It is empty.", calls: 0 },
      { uncalled },
      { kind: "force", round: { kind: "tool_not_called", prompt: "Call it." } },
    ],
    [
      "and then the turn ends with an error",
      { text: "It is empty.", calls: 0 },
      { forced: 1, uncalled: { ...uncalled, wasPrompted: true } },
      { kind: "end", reason: "error", uncalled: "list_files" },
    ],
    [
      "nothing is forced where the program reads the reply",
      { text: "", calls: 0 },
      { maxForced: 0, neededRound: () => round },
      end("answered"),
    ],
  ];
  it.each(rows)("%s", (_name, reply, standing, expected) => {
    expect(afterReply(reply, { ...plain, ...standing })).toEqual(expected);
  });
});

describe("what follows the tools", () => {
  const result = (text: string, ends_turn?: string, status: "success" | "error" = "success"): ToolMessage =>
    new ToolMessage({
      content: text,
      status,
      tool_call_id: text,
      additional_kwargs: ends_turn === undefined ? {} : { ends_turn },
    });
  const asked = new AIMessage({ content: "", tool_calls: [{ id: "1", name: "list_files", args: {} }] });
  const rows: [string, BaseMessage[], ReturnType<typeof afterTools>][] = [
    ["nothing has been done", [], null],
    ["results are fed back", [asked, result("a")], null],
    ["a result to be shown is the reply", [asked, result("a", "answered")], { reason: "answered", text: "a" }],
    ["so is the final result of the task", [asked, result("a", "completed")], { reason: "completed", text: "a" }],
    [
      "several are shown together",
      [asked, result("a", "answered"), result("b", "answered")],
      { reason: "answered", text: "a\n\nb" },
    ],
    ["only those to be shown are", [asked, result("a"), result("b", "answered")], { reason: "answered", text: "b" }],
    ["a failure beside them is for the model", [asked, result("a", "answered"), result("b", undefined, "error")], null],
    ["an earlier round does not count", [asked, result("a", "answered"), asked, result("b")], null],
  ];
  it.each(rows)("%s", (_name, messages, expected) => {
    expect(afterTools(messages)).toEqual(expected);
  });
});
