import { describe, expect, it } from "vitest";
import type { ToolCallRecord } from "@millrace/engine/storage/records";
import { toolHistory, toolStatistics } from "../../src/tools/runtime/tool-history.ts";

function row(tool_call_id: string, fields: Partial<ToolCallRecord>): ToolCallRecord {
  const started_at = "2026-01-01T00:00:00.000Z";
  const open = { state: "started", result: null, finished_at: null } as const;
  return { session_id: "s", tool_call_id, run_id: "r", tool: "t", effect: "unsafe", started_at, ...open, ...fields };
}
const ended = (success: boolean, at: string): Partial<ToolCallRecord> => ({
  state: "finished",
  result: { success, code: "OK", message: "" },
  finished_at: at,
});
const rows = [
  row("m1/0", ended(true, "2026-01-01T00:00:00.200Z")),
  row("m1/1", ended(false, "2026-01-01T00:00:01.000Z")),
  row("m2/0", { run_id: "now", tool: "a" }),
  row("m2/1", { run_id: "crashed", tool: "a" }),
];

describe("the history of tool calls", () => {
  it("gives the outcome of each call, and the running one (TOOL-12)", () => {
    expect(
      toolHistory(rows, "now").map(({ call_id, message_id, status, duration_ms }) => [
        call_id,
        message_id,
        status,
        duration_ms,
      ]),
    ).toEqual([
      ["m1/0", "m1", "completed", 200],
      ["m1/1", "m1", "failed", 1000],
      ["m2/0", "m2", "executing", null],
      ["m2/1", "m2", "unknown", null],
    ]);
  });

  it("counts calls, successes and times by tool (TOOL-07)", () => {
    expect(toolStatistics(toolHistory(rows, "now"))).toEqual([
      { tool: "a", calls: 2, successes: 0, failures: 0, total_ms: 0, longest_ms: 0 },
      { tool: "t", calls: 2, successes: 1, failures: 1, total_ms: 1200, longest_ms: 1000 },
    ]);
  });

  it("counts also what a session has gathered in years", () => {
    const one = toolHistory(rows, undefined)[0];
    const many = one === undefined ? [] : Array.from({ length: 200_000 }, () => one);
    expect(toolStatistics(many)).toMatchObject([{ calls: 200_000, longest_ms: 200 }]);
  });
});
