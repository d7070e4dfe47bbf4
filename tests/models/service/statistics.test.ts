import { describe, expect, it } from "vitest";
import { createCounter } from "@millrace/models/resilience/statistics";

describe("the account of a service (SVC-06)", () => {
  it("knows nothing before the first request came to an end", () => {
    expect(createCounter().read()).toEqual({
      calls: 0,
      succeeded: 0,
      failed: 0,
      cancelled: 0,
      refused: 0,
      success_rate: null,
      mean_duration_ms: null,
      mean_first_token_ms: null,
      failures: {},
      last_failure: null,
    });
  });

  it("has the mean time of what succeeded, and the share of it in what came to an end", () => {
    const counter = createCounter();
    for (const [first, whole] of [
      [10, 100],
      [20, 200],
      [60, 600],
    ] as const) {
      counter.answering(first);
      counter.succeeded(whole);
    }
    counter.answering(110);
    counter.failed("network");
    counter.cancelled();
    counter.refused();
    expect(counter.read()).toMatchObject({
      calls: 5,
      success_rate: 0.75,
      mean_duration_ms: 300,
      mean_first_token_ms: 50,
      cancelled: 1,
      refused: 1,
    });
  });

  it("counts failures by what they are, and remembers the last", () => {
    const counter = createCounter();
    counter.failed("timeout");
    counter.failed("server");
    counter.failed("server");
    const { failures, last_failure } = counter.read();
    expect(failures).toEqual({ timeout: 1, server: 2 });
    expect(last_failure?.error).toBe("server");
    expect(Date.parse(last_failure?.at ?? "")).not.toBeNaN();
  });
});
