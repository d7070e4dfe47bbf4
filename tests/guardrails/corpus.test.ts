import { describe, expect, it } from "vitest";
import { turnRules } from "../../src/guardrails/index.ts";
import { Dice, honestKinds, loopKinds } from "./corpus/generate.ts";
import { honest } from "./corpus/honest.ts";
import { loops } from "./corpus/loops.ts";
import { isCaught, play } from "./corpus/play.ts";

/** A sample of what `npm run bench:guardrails` does a thousand times. */
const sample = Number(process.env["LOOPS"] ?? 25);
const seed = Number(process.env["SEED"] ?? 7);
const seeds = Array.from({ length: sample }, (_, at) => seed + at);

describe("the corpus", () => {
  it("holds at least 25 loops and 25 pieces of honest work, and a loop for every rule", () => {
    expect(loops.length).toBeGreaterThanOrEqual(25);
    expect(honest.length).toBeGreaterThanOrEqual(25);
    expect([...new Set(loops.map(({ rule }) => rule))].toSorted()).toEqual(Object.keys(turnRules).toSorted());
  });

  it.each(loops)("is caught in time: $name", (loop) => {
    const { stopped, finishedAfter } = play(loop);
    expect(stopped?.finding.rule).toBe(loop.rule);
    expect(stopped?.after).toBe(loop.within);
    // Blocking alone does not end a turn (GUARD-09).
    expect(finishedAfter).toBeLessThanOrEqual(loop.within + 9);
  });

  it.each(honest)("is let through: $name", (work) => {
    expect(play(work).stopped).toBeNull();
  });
});

describe("generated turns", () => {
  it.each(Object.entries(loopKinds))("of the kind %s are caught in time", (_, make) => {
    const missed = seeds.filter((each) => {
      const loop = make(new Dice(each));
      return !isCaught(loop, play(loop), "any rule");
    });
    expect(missed).toEqual([]);
  });

  it.each(Object.entries(honestKinds))("of honest work of the kind %s are let through", (_, make) => {
    expect(seeds.filter((each) => play(make(new Dice(each))).stopped !== null)).toEqual([]);
  });
});
