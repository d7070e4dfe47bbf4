import { describe, expect, it } from "vitest";
import { isAppError } from "@millrace/engine/errors/errors";
import { nextPhase, type PhaseEvent } from "../../../src/loop/limits/phases.ts";
import { LoopPhase } from "../../../src/state.ts";

const table: [LoopPhase, PhaseEvent, LoopPhase][] = [
  ["idle", "start", "preparing"],
  ["preparing", "prompt_ready", "calling_llm"],
  ["calling_llm", "stream_started", "streaming"],
  ["streaming", "stream_started", "streaming"],
  ["streaming", "response_complete", "parsing"],
  ["calling_llm", "response_complete", "parsing"],
  ["parsing", "tools_detected", "executing"],
  ["parsing", "no_tools", "complete"],
  ["executing", "tool_started", "waiting_tool"],
  ["waiting_tool", "tool_started", "waiting_tool"],
  ["waiting_tool", "tool_complete", "aggregating"],
  ["executing", "tool_complete", "aggregating"],
  ["aggregating", "results_ready", "calling_llm"],
  ["parsing", "reply_continued", "preparing"],
  ["aggregating", "turn_over", "complete"],
  ["preparing", "turn_over", "complete"],
  ["complete", "reset", "idle"],
  ["cancelled", "reset", "idle"],
  ["error", "reset", "idle"],
];
const events: PhaseEvent[] = [
  "start",
  "prompt_ready",
  "stream_started",
  "response_complete",
  "tools_detected",
  "no_tools",
  "tool_started",
  "tool_complete",
  "results_ready",
  "reply_continued",
  "turn_over",
  "reset",
];

describe("the phases of the loop", () => {
  it.each(table)("%s, on %s, becomes %s", (from, event, to) => {
    expect(nextPhase(from, event)).toBe(to);
  });

  it("refuses every move the table does not have", () => {
    for (const from of LoopPhase.options) {
      for (const event of events) {
        if (table.some(([phase, move]) => phase === from && move === event)) continue;
        expect(() => nextPhase(from, event), `${from} on ${event}`).toThrowError(
          expect.toSatisfy((error: unknown) => isAppError(error) && error.code === "invalid_state"),
        );
      }
    }
  });

  it("lets a stop and an error come at any time", () => {
    for (const from of LoopPhase.options) {
      expect(nextPhase(from, "cancel")).toBe("cancelled");
      expect(nextPhase(from, "error")).toBe("error");
    }
  });
});
