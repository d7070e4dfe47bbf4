import { describe, expect, it } from "vitest";
import {
  parallelCallLimit,
  reachedLimit,
  recursionLimit,
  remainingMs,
  restart,
  elapsedMs,
} from "../../../src/loop/limits/limits.ts";
import { builtInProfiles } from "@millrace/models/registry/profiles";
import { LoopLimits } from "../../../src/state.ts";

const limits = LoopLimits.parse({});

describe("the limits of the loop", () => {
  it("are made for real work by default", () => {
    expect(limits).toEqual({
      max_iterations: 60,
      max_tool_calls_per_turn: 50,
      timeout_seconds: 3600,
      max_parallel_tools: 3,
      max_tool_retries: 2,
      tool_result_max_length: 96_000,
      safe_zone: "80k",
      max_history_rounds: null,
      same_failure_limit: 2,
      stagnation_threshold: 3,
      max_force_continue: 5,
      generate_max_rounds: 5,
      agentic_connection_retries: 3,
    });
  });

  it.each([
    [0, 0, null],
    [58, 0, null],
    [59, 0, "iteration_limit"],
    [3, 3_599_999, null],
    [3, 3_600_000, "timeout"],
  ])("after %i iterations and %i ms of work: %s", (iteration_count, worked_ms, expected) => {
    expect(reachedLimit({ iteration_count, worked_ms }, limits)).toBe(expected);
  });

  it("leave the time that has not been worked, and never less than none", () => {
    expect(remainingMs(10_000, limits)).toBe(3_590_000);
    expect(remainingMs(9_000_000, limits)).toBe(0);
  });

  it("count what the loop had worked before it went on, and since; not what lies between (C-28)", () => {
    const begun = { start_time: 1 };
    const clock = { since: 5_000_000, before: undefined };
    expect(elapsedMs(clock, { ...begun, worked_ms: 200 }, 5_000_300)).toBe(500);
    // A step that was stored meanwhile says the same; the clock's past stands.
    expect(elapsedMs(clock, { ...begun, worked_ms: 500 }, 5_000_400)).toBe(600);
    expect(restart(clock, { worked_ms: 600 }, 9_000_000)).toBe(600);
    expect(elapsedMs(clock, { ...begun, worked_ms: 600 }, 9_000_001)).toBe(601);
  });

  it("do not count making ready for the first step, and count everything after it", () => {
    const first = { since: 1000, before: undefined };
    expect(elapsedMs(first, { start_time: 0, worked_ms: 0 }, 4000)).toBe(0);
    expect(elapsedMs(first, { start_time: 4000, worked_ms: 0 }, 4500)).toBe(500);
    const next = { since: 1000, before: undefined };
    expect(elapsedMs(next, { start_time: 900, worked_ms: 0 }, 4000)).toBe(3000);
  });

  it("may be the run's own: more calls at once, and model calls that are tried without a limit (LOOP-16)", () => {
    const own = LoopLimits.parse({ max_parallel_tools: 5, agentic_connection_retries: -1 });
    expect(parallelCallLimit({ limits: own, model: "openai:any", toolPolicy: "auto" }, builtInProfiles)).toBe(5);
    expect(own.agentic_connection_retries).toBe(-1);
  });

  it("fire before LangGraph's own limit", () => {
    expect(recursionLimit(limits)).toBeGreaterThanOrEqual(limits.max_iterations * 4 + 2);
  });

  it.each([
    ["auto", "native", 3],
    ["serial", "native", 1],
    ["guarded", "native", 1],
    ["auto", "text", 1],
    ["auto", "tags", 1],
  ] as const)("let a model with the policy %s and %s calls have %i calls at once (QUEUE-04, XML-10)", (...row) => {
    const [toolPolicy, tool_calls, atOnce] = row;
    // The server's own profile counts, not the built-in one.
    const profileOf = (model: string) => ({ ...builtInProfiles(model), tool_calls });
    expect(parallelCallLimit({ limits, model: "openai:any", toolPolicy }, profileOf)).toBe(atOnce);
  });
});
