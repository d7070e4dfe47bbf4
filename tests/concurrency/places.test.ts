import { describe, expect, it } from "vitest";
import { createSemaphore } from "@millrace/engine/concurrency/limits";

const never = new AbortController().signal;

/** Work that says when it began and ends on request. */
function pieces(places: ReturnType<typeof createSemaphore>) {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const start = (name: string, signal = never): Promise<string> =>
    places.run(signal, async () => {
      begun.push(name);
      const { promise, resolve } = Promise.withResolvers<void>();
      ends.set(name, resolve);
      await promise;
      return name;
    });
  return { begun, start, end: (name: string) => ends.get(name)?.() };
}

describe("places", () => {
  it("let as many work as they may, and the others in the order in which they came", async () => {
    const { begun, start, end } = pieces(createSemaphore(2));
    const all = ["a", "b", "c", "d"].map((name) => start(name));
    await Promise.resolve();
    expect(begun).toEqual(["a", "b"]);
    end("b");
    await all[1];
    await Promise.resolve();
    expect(begun).toEqual(["a", "b", "c"]);
    end("a");
    end("c");
    await Promise.all([all[0], all[2]]);
    await Promise.resolve();
    end("d");
    expect(await Promise.all(all)).toEqual(["a", "b", "c", "d"]);
  });

  it("pass over who does not wait any more, and go on after work that failed", async () => {
    const places = createSemaphore(1);
    const { begun, start, end } = pieces(places);
    const first = start("a");
    const stop = new AbortController();
    const gone = start("b", stop.signal);
    const failing = places.run(never, () => Promise.reject(new Error("broken")));
    const last = start("c");
    stop.abort(new Error("stopped"));
    await expect(gone).rejects.toThrow("stopped");
    await expect(start("d", stop.signal)).rejects.toThrow("stopped");
    end("a");
    await expect(failing).rejects.toThrow("broken");
    await first;
    await Promise.resolve();
    end("c");
    expect(await last).toBe("c");
    expect(begun).toEqual(["a", "c"]);
  });
});
