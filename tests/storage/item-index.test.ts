import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cosineSimilarity, textsToEmbed, unitVector } from "@millrace/engine/storage/items/item-filter";

describe("the texts of an item that are embedded", () => {
  const value = {
    title: "Sea",
    count: 3,
    empty: " ",
    notes: [{ text: "one" }, { text: "two" }, { other: "three" }],
    deep: { names: ["a", "b"] },
  };

  it.each<[string[] | false | null, string[]]>([
    [null, ["Sea"]],
    [false, []],
    [[], []],
    [["$"], [JSON.stringify(value)]],
    [["title", "nothing", "empty"], ["Sea"]],
    [["notes[*].text"], ["one", "two"]],
    [["notes[0].text"], ["one"]],
    [["notes[-1]"], ['{"other":"three"}']],
    [
      ["deep.names", "count"],
      ['["a","b"]', "3"],
    ],
    [["$.title", "__proto__", "title.length"], ["Sea"]],
  ])("at %j are %j", (index, texts) => {
    expect(textsToEmbed(value, index, ["title"])).toEqual(texts);
  });

  it("are limited in number and length to what a model accepts", () => {
    expect(textsToEmbed({ all: Array.from({ length: 500 }, () => "x") }, ["all[*]"], [])).toHaveLength(100);
    expect(textsToEmbed({ text: `${"x".repeat(19_999)}😀` }, ["text"], [])[0]).toBe(`${"x".repeat(19_999)}�`);
  });
});

describe("the similarity of vectors", () => {
  const vector = fc
    .array(fc.float({ min: -100, max: 100, noNaN: true }), { minLength: 3, maxLength: 3 })
    .map((numbers) => Float32Array.from(numbers))
    .filter((numbers) => Math.hypot(...numbers) > 0.001);

  it("is 1 for the same direction, -1 for the opposite one, and symmetric", () => {
    fc.assert(
      fc.property(vector, vector, fc.integer({ min: 1, max: 9 }), (one, other, factor) => {
        const near = cosineSimilarity(unitVector(one), unitVector(other));
        expect(Math.abs(near)).toBeLessThan(1.0001);
        expect(cosineSimilarity(unitVector(other), unitVector(one))).toBeCloseTo(near, 5);
        const longer = one.map((number) => number * factor);
        expect(cosineSimilarity(unitVector(one), unitVector(longer))).toBeCloseTo(1, 4);
        expect(cosineSimilarity(unitVector(one), unitVector(one.map((number) => -number)))).toBeCloseTo(-1, 4);
      }),
    );
  });

  it("is 0 for a vector without a direction, or of another length", () => {
    expect(cosineSimilarity(unitVector(new Float32Array(3)), Float32Array.of(1, 0, 0))).toBe(0);
    expect(cosineSimilarity(Float32Array.of(1, 0), Float32Array.of(1, 0, 0))).toBe(0);
  });
});
