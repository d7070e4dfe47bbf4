import { describe, expect, it } from "vitest";
import { nextTurnState, stateInPhase, type TurnState } from "../../src/loop/limits/orchestration.ts";
import { Orchestration, type LoopPhase } from "../../src/state.ts";

const states: readonly TurnState[] = Orchestration.shape.state.options;
const allowed: Record<TurnState, TurnState[]> = {
  idle: ["plan"],
  plan: ["idle", "tool_call", "decide", "respond"],
  tool_call: ["idle", "tool_result"],
  tool_result: ["idle", "decide"],
  decide: ["idle", "plan", "tool_call", "respond"],
  respond: ["idle"],
};

describe("the states of a turn (STATE-03)", () => {
  it.each(states.flatMap((from) => states.map((to) => [from, to] as const)))("%s to %s", (from, to) => {
    if (from === to || allowed[from].includes(to)) expect(nextTurnState(from, to)).toBe(to);
    else expect(() => nextTurnState(from, to)).toThrow(`"${from}" to "${to}"`);
  });

  it("follow the phases of the loop by allowed moves only", () => {
    const walk: LoopPhase[] = ["preparing", "calling_llm", "streaming", "parsing", "executing", "waiting_tool"];
    const round: LoopPhase[] = [
      "aggregating",
      "calling_llm",
      "streaming",
      "parsing",
      "executing",
      "aggregating",
      "complete",
    ];
    const passed: TurnState[] = ["plan"];
    for (const phase of [...walk, ...round]) {
      const from = passed.at(-1) ?? "plan";
      const to = nextTurnState(from, stateInPhase(from, phase));
      if (to !== from) passed.push(to);
    }
    const oneRound = ["tool_call", "tool_result", "decide"];
    expect(passed).toEqual(["plan", ...oneRound, ...oneRound]);
  });

  it("stay where they are in a phase that is no step of the turn", () => {
    for (const phase of ["cancelled", "error", "idle", "streaming", "parsing"] as const) {
      for (const state of states) expect(stateInPhase(state, phase)).toBe(state);
    }
  });
});
