import { getEventListeners } from "node:events";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { unlessAborted } from "@millrace/engine/concurrency/abort";

describe("work that is waited for unless a signal aborts", () => {
  it("gives what it comes to, well or not, and leaves nothing at the signal", async () => {
    const { signal } = new AbortController();
    expect(await unlessAborted(Promise.resolve(7), signal)).toBe(7);
    await expect(unlessAborted(Promise.reject(new Error("broken")), signal)).rejects.toThrow("broken");
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("is let go as soon as the signal aborts, with its reason", async () => {
    const stop = new AbortController();
    const waiting = unlessAborted(new Promise(() => undefined), stop.signal);
    stop.abort(new Error("stopped"));
    await expect(waiting).rejects.toThrow("stopped");
    expect(getEventListeners(stop.signal, "abort")).toEqual([]);
  });

  it("is not waited for where the signal has aborted before, and its later failure is no unhandled rejection", async () => {
    const unhandled: unknown[] = [];
    const note = (error: unknown): void => void unhandled.push(error);
    process.on("unhandledRejection", note);
    try {
      const { promise, reject } = Promise.withResolvers<never>();
      await expect(unlessAborted(promise, AbortSignal.abort(new Error("stopped")))).rejects.toThrow("stopped");
      await expect(unlessAborted(Promise.resolve(7), AbortSignal.abort(new Error("stopped")))).rejects.toThrow(
        "stopped",
      );
      reject(new Error("too late"));
      await nextTurn();
      expect(unhandled).toEqual([]);
    } finally {
      process.off("unhandledRejection", note);
    }
  });
});
