import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkFilter, matchesFilter, scoreOf } from "@millrace/engine/storage/items/item-filter";

const value = {
  name: "Ada",
  size: 10,
  text: "9",
  date: "2026-03-01",
  gone: null,
  tags: ["a", "b"],
  inner: { deep: { level: 2 }, list: [1] },
};

describe("a filter", () => {
  it.each<[boolean, Record<string, unknown>]>([
    [true, {}],
    [true, { name: "Ada" }],
    [false, { name: "ada" }],
    [true, { name: "Ada", size: 10 }],
    [false, { name: "Ada", size: 11 }],
    [false, { missing: "Ada" }],
    [true, { gone: null }],
    [false, { missing: null }],
    [true, { tags: ["a", "b"] }],
    [false, { tags: ["a"] }],
    [true, { inner: { deep: { level: 2 } } }],
    [false, { inner: { deep: { level: 3 } } }],
    [true, { inner: { list: [1] } }],
    [true, { name: { $eq: "Ada" } }],
    [true, { tags: { $eq: ["a", "b"] } }],
    [true, { name: { $ne: "Bob" } }],
    [true, { missing: { $ne: 1 } }],
    [true, { size: { $gt: 9 } }],
    [false, { size: { $gt: 10 } }],
    [true, { size: { $gte: 10, $lt: 11 } }],
    [false, { size: { $gte: 10, $lt: 10 } }],
    [true, { size: { $lte: 10 } }],
    [true, { size: { $gt: "9" } }],
    [true, { text: { $lt: 10 } }],
    [true, { text: { $lt: "10" } }],
    [true, { date: { $gte: "2026-02-28", $lt: "2026-03-02" } }],
    [false, { name: { $gt: 1 } }],
    [false, { gone: { $gte: 0 } }],
    [false, { missing: { $lte: 0 } }],
    [true, { name: { $in: ["Bob", "Ada"] } }],
    [false, { name: { $in: "Ada" } }],
    [false, { name: { $in: [] } }],
    [true, { name: { $nin: ["Bob"] } }],
    [false, { name: { $nin: ["Ada"] } }],
    [true, { inner: { deep: { level: { $gt: 1 } } } }],
    [false, { name: { length: 3 } }],
    [false, { constructor: { name: "Object" } }],
  ])("says %s to %j", (expected, filter) => {
    expect(matchesFilter(value, filter)).toBe(expected);
  });

  it("that equals the value matches, whatever the order of its keys", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (any) => {
        const wanted = Object.entries(any).map(([key, inner]) => [key, { $eq: inner }]);
        expect(matchesFilter(any, Object.fromEntries(wanted.reverse()))).toBe(true);
      }),
    );
  });

  it.each([
    [{ size: { $gt: 1, $near: 2 } }, 'filter.size: there is no operator "$near"'],
    [{ size: { $gt: 1, other: 2 } }, 'filter.size: there is no operator "other"'],
    [{ a: { b: { $like: "x" } } }, 'filter.a.b: there is no operator "$like"'],
    [{ $or: [{ a: 1 }] }, "filter: $or has to stand below a field"],
  ])("%j is refused with a list of the operators", (filter, message) => {
    expect(() => checkFilter(filter)).toThrow(
      expect.objectContaining({
        code: "invalid_parameter",
        message: `${message}.`,
        suggestion: expect.stringContaining("$nin"),
      }),
    );
  });

  it("that is valid is accepted", () => {
    expect(() => checkFilter({ a: 1, b: { $in: [1] }, c: { d: { $lt: 2 } }, e: ["$x"] })).not.toThrow();
  });
});

describe("the score of a value", () => {
  const book = {
    title: "The Old Sea",
    chapters: [{ content: "a boat" }, { content: "a fish" }],
    authors: ["Ann", "Ben"],
    year: 1952,
    标题: "老人与海",
  };
  it.each<[number | undefined, string, false | string[] | null]>([
    [1, "old SEA", null],
    [0.5, "sea lion", null],
    [0, "lion", null],
    [1, "1952", null],
    [1, "老人", null],
    [0.5, "老虎", null],
    [0, "", null],
    [0, " ,. ", null],
    [undefined, "sea", false],
    [1, "sea", ["title"]],
    [0, "boat", ["title"]],
    [1, "boat fish", ["chapters[*].content"]],
    [1, "ben", ["authors[-1]"]],
    [0, "ann", ["authors[-1]"]],
    [1, "ann", ["authors[0]"]],
    [1, "fish", ["$"]],
    [1, "sea", ["$.title"]],
    [0, "sea", ["missing.path", "title.deeper", "authors[9]"]],
    [0, "sea", []],
    [0, "object", ["constructor"]],
  ])("is %s for %j, with the fields %j", (expected, query, index) => {
    expect(scoreOf(book, index, query)).toBe(expected);
  });
});
