import { describe, expect, it } from "vitest";
import { createToolCounter, type HookedCall } from "../../src/tools/runtime/hooks.ts";
import { failure, success } from "../../src/tools/runtime/result.ts";

const call = (tool: string): HookedCall => ({ tool, effect: "pure", session_id: "s", run_id: "r", call_id: "c" });

describe("the counter of tool calls", () => {
  it("adds up the ends of each tool, and knows nothing of one that has not ended a call", async () => {
    const counter = createToolCounter();
    const { hook } = counter;
    await hook.after?.(call("a"), success("done"), 10);
    await hook.onError?.(call("a"), failure("timeout", "late"), 30);
    await hook.after?.(call("b"), success("done"), 5);
    expect(counter.of("a")).toEqual({ tool: "a", calls: 2, successes: 1, failures: 1, total_ms: 40, longest_ms: 30 });
    expect(counter.of("b")).toMatchObject({ calls: 1, failures: 0 });
    expect(counter.of("c")).toBeUndefined();
  });
});
