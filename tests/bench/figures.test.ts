import { describe, expect, it } from "vitest";
import { target, verdict, type Figure } from "./figures.ts";
import { percentile } from "./servers/load.ts";

const figure = (parts: Partial<Figure>): Figure => ({ measure: "m", unit: "ms", value: 10, ...parts });

describe("a figure", () => {
  it.each([
    ["within its limit", { max: 10 }, "hit"],
    ["over its limit", { max: 9 }, "MISS"],
    ["at least its minimum", { min: 10 }, "hit"],
    ["under its minimum", { min: 11 }, "MISS"],
    ["without a target", {}, ""],
    ["that could not be measured", { value: Number.NaN, max: 10 }, "MISS"],
    ["with its ratio to the peer", { minRatio: 40, peer: 400 }, "hit"],
    ["below its ratio to the peer", { max: 10, minRatio: 40, peer: 300 }, "MISS"],
    ["with a ratio and no peer", { minRatio: 40 }, ""],
  ])("%s", (_, parts, expected) => {
    expect(verdict(figure(parts))).toBe(expected);
  });

  it("says its target in words", () => {
    expect(target(figure({ max: 14, minRatio: 40, peer: 1 }))).toBe("<= 14 ms, 40x the peer");
    expect(target(figure({}))).toBe("");
  });
});

describe("a percentile", () => {
  it("is one of the values, by rank", () => {
    const values = Array.from({ length: 100 }, (_, index) => 100 - index);
    expect([percentile(values, 50), percentile(values, 99), percentile([7], 99)]).toEqual([50, 99, 7]);
  });
});
