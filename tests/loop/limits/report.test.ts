import { AIMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { loopReport } from "../../../src/loop/sub-agents/report.ts";

const begun = { phase: "executing", end_reason: null, last_error: null, start_time: 1000, worked_ms: 800 } as const;
const calling = new AIMessage({
  content: "I look.",
  additional_kwargs: { reasoning_content: "first the list" },
  tool_calls: [
    { id: "one", name: "list_files", args: { path: "." } },
    { id: "two", name: "read_file", args: { path: "a" } },
  ],
});
const listed = new ToolMessage({ tool_call_id: "one", content: "a", status: "success" });
const unread = new ToolMessage({ tool_call_id: "two", content: "Error (not_found): no a", status: "error" });

describe("the report of a loop (LOOP-06)", () => {
  it.each<[string, BaseMessage[], Record<string, unknown>]>([
    ["before its first reply", [], { tool_calls_history: [], final_response: "", final_reasoning: "", errors: [] }],
    [
      "with a call that is open",
      [calling, listed],
      {
        tool_calls_history: [
          { id: "one", name: "list_files", arguments: { path: "." }, result: "a", success: true },
          { id: "two", name: "read_file", arguments: { path: "a" }, result: null, success: null },
        ],
        final_response: "I look.",
        final_reasoning: "first the list",
        errors: [],
      },
    ],
    [
      "with a failed call and a last reply",
      [calling, listed, unread, new AIMessage("There is no a.")],
      {
        tool_calls_history: [{ success: true }, { success: false }],
        final_response: "There is no a.",
        final_reasoning: "",
        errors: ["Error (not_found): no a"],
      },
    ],
  ])("%s has calls, results, words and errors", (_, messages, expected) => {
    const report = loopReport({ ...begun, messages }, 2000);
    expect(report).toMatchObject({ ...expected, is_running: true, is_cancelled: false, end_time: null });
    expect(report).toMatchObject({ start_time: 1000, worked_ms: 800 });
  });

  it.each([
    ["answered", false],
    ["cancelled", true],
  ] as const)("%s is no longer running, and has its end", (end_reason, is_cancelled) => {
    const report = loopReport({ ...begun, messages: [], end_reason, last_error: "The model is away." }, 3000);
    expect(report).toMatchObject({ is_running: false, is_cancelled, end_time: 3000, errors: ["The model is away."] });
  });

  it("has not begun before its first iteration", () => {
    expect(loopReport({ ...begun, phase: "idle", messages: [] }, 1000).is_running).toBe(false);
  });
});
