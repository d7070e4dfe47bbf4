import { describe, expect, it } from "vitest";
import { reachedLimit, recursionLimit, remainingMs } from "../../src/loop/limits.ts";
import { LoopLimits } from "../../src/state.ts";

const limits = LoopLimits.parse({});

describe("the limits of the loop", () => {
  it("are those of the requirements by default", () => {
    expect(limits).toEqual({
      max_iterations: 15,
      soft_warning_at: 10,
      max_tool_calls_per_turn: 5,
      timeout_seconds: 300,
      max_parallel_tools: 3,
      max_tool_retries: 2,
      tool_result_max_length: 5000,
      same_failure_limit: 2,
      stagnation_threshold: 3,
      max_force_continue: 5,
      generate_max_rounds: 5,
      agentic_connection_retries: 3,
    });
  });

  it.each([
    [0, 0, 0, null],
    [13, 0, 0, null],
    [14, 0, 0, "iteration_limit"],
    [3, 0, 300_000, "timeout"],
    [3, 200_000, 300_000, null],
  ])("after %i iterations, %i ms of waiting and %i ms in all: %s", (iteration_count, waited, elapsed, expected) => {
    const state = { iteration_count, waits: { "2": waited }, start_time: 1000 };
    expect(reachedLimit(state, limits, 1000 + elapsed)).toBe(expected);
  });

  it("never count time spent waiting for a person", () => {
    expect(remainingMs({ start_time: 0, waits: { "1": 20_000, "4": 30_000 } }, limits, 60_000)).toBe(290_000);
    expect(remainingMs({ start_time: 0, waits: {} }, limits, 900_000)).toBe(0);
  });

  it("fire before LangGraph's own limit", () => {
    expect(recursionLimit(limits)).toBeGreaterThanOrEqual(limits.max_iterations * 4 + 2);
  });
});
