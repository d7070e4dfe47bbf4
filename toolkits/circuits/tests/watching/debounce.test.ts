import { describe, expect, it } from "vitest";
import { createDebounce, type Clock } from "../../watching/debounce.ts";

/** A clock that stands still until it is moved on. */
function aClock() {
  let time = 0;
  const waiting = new Set<{ at: number; work: () => void }>();
  const clock: Clock = {
    now: () => time,
    after(milliseconds, work) {
      const one = { at: time + milliseconds, work };
      waiting.add(one);
      return () => waiting.delete(one);
    },
  };
  return {
    clock,
    waiting: () => waiting.size,
    goTo: (end: number): void => {
      for (;;) {
        const [next] = [...waiting].filter(({ at }) => at <= end).toSorted((left, right) => left.at - right.at);
        if (next === undefined) break;
        waiting.delete(next);
        time = Math.max(time, next.at);
        next.work();
      }
      time = end;
    },
  };
}

type Case = [what: string, signs: [at: number, path: string][], given: [at: number, paths: string[]][]];
const cases: Case[] = [
  ["one sign", [[0, "a"]], [[200, ["a"]]]],
  [
    "many signs of one path",
    [
      [0, "a"],
      [10, "a"],
      [150, "a"],
    ],
    [[350, ["a"]]],
  ],
  [
    "paths apart",
    [
      [0, "a"],
      [100, "b"],
    ],
    [
      [200, ["a"]],
      [300, ["b"]],
    ],
  ],
  [
    "the two names of a move",
    [
      [0, "a"],
      [1, "b"],
    ],
    [[200, ["a", "b"]]],
  ],
  [
    "one path that goes on beside one that is quiet",
    [
      [0, "a"],
      [5, "b"],
      [190, "a"],
    ],
    [
      [205, ["b"]],
      [390, ["a"]],
    ],
  ],
  [
    "the same path again later",
    [
      [0, "a"],
      [500, "a"],
    ],
    [
      [200, ["a"]],
      [700, ["a"]],
    ],
  ],
];

describe("the debounce", () => {
  it.each(cases)("gives %s once it is quiet", (_, signs, wanted) => {
    const { clock, goTo, waiting } = aClock();
    const given: [number, string[]][] = [];
    const debounce = createDebounce((paths) => given.push([clock.now(), paths]), clock);
    for (const [at, path] of signs) {
      goTo(at);
      debounce.add(path);
    }
    goTo(10_000);
    expect(given).toEqual(wanted);
    expect(waiting()).toBe(0);
  });

  it("gives a path that is never quiet every two seconds", () => {
    const { clock, goTo } = aClock();
    const given: number[] = [];
    const debounce = createDebounce(() => given.push(clock.now()), clock);
    for (let at = 0; at <= 4000; at += 50) {
      goTo(at);
      debounce.add("a");
    }
    expect(given).toEqual([2000, expect.any(Number)]);
    expect(given[1]).toBeGreaterThanOrEqual(3900);
  });

  it("gives nothing any more when it is closed", () => {
    const { clock, goTo, waiting } = aClock();
    const debounce = createDebounce(() => expect.unreachable("it was closed"), clock);
    debounce.add("a");
    debounce.close();
    goTo(1000);
    expect(waiting()).toBe(0);
  });
});
