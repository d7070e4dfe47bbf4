import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { reportingElapsed } from "../../../src/loop/model-call/slow-call.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("a slow call", () => {
  it("says after 5 seconds, then every 10, that it still works, and nothing after its end", async () => {
    const reported: number[] = [];
    const end = Promise.withResolvers<string>();
    const running = reportingElapsed(
      () => end.promise,
      (seconds) => reported.push(seconds),
    );
    await vi.advanceTimersByTimeAsync(4_999);
    expect(reported).toEqual([]);
    await vi.advanceTimersByTimeAsync(20_001);
    expect(reported).toEqual([5, 15, 25]);
    end.resolve("done");
    expect(await running).toBe("done");
    await vi.advanceTimersByTimeAsync(60_000);
    expect(reported).toEqual([5, 15, 25]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("leaves no timer behind when it fails", async () => {
    const failing = reportingElapsed(
      () => Promise.reject(new Error("broken")),
      () => undefined,
    );
    await expect(failing).rejects.toThrow("broken");
    expect(vi.getTimerCount()).toBe(0);
  });
});
