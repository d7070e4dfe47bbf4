import fc from "fast-check";
import { expect, test } from "vitest";
import { contains } from "@millrace/engine/storage/items/contains";

test.each([
  [{ a: 1, b: 2 }, { a: 1 }, true],
  [{ a: { b: 1, c: 2 } }, { a: { c: 2 } }, true],
  [{ a: [1, 2] }, { a: [2] }, true],
  [{ a: 1 }, { a: "1" }, false],
  [{}, { a: null }, false],
  [{ a: [1] }, { a: { 0: 1 } }, false],
  [{}, { toString: {} }, false],
  [{ a: [{ b: 1, c: 2 }, [3]] }, { a: [[3], { b: 1 }] }, true],
  [{ a: [{ b: 1 }] }, { a: [{ b: 1 }, { b: 2 }] }, false],
])("%j contains %j: %j", (value, filter, expected) => {
  expect(contains(value, filter)).toBe(expected);
});

test("comparing long lists of plain values takes a time that grows linearly with their length", () => {
  const numbers = Array.from({ length: 2_000_000 }, (_, index) => index);
  expect(contains(numbers, numbers.toReversed())).toBe(true);
});

test("lists of objects that are too long to compare in pairs are refused, also nested ones", () => {
  const objects = (length: number): object[] => Array.from({ length }, (_, a) => ({ a }));
  const refused = expect.objectContaining({ code: "too_large" });
  expect(() => contains(objects(2000), objects(2000).toReversed())).toThrow(refused);
  const lists = objects(100).map((one) => ({ list: objects(200), ...one }));
  const turned = lists.map(({ list, ...one }) => ({ list: list.toReversed(), ...one })).toReversed();
  expect(() => contains(lists, turned)).toThrow(refused);
});

test("the contents of long lists count as well: plain values a little, keys of objects each", () => {
  const refused = expect.objectContaining({ code: "too_large" });
  const plain = Array.from({ length: 1000 }, () => Array.from({ length: 1000 }, (_, index) => index));
  expect(contains([...plain, ["nowhere"]], [["nowhere"]])).toBe(true);
  expect(() => contains([...plain, ["nowhere"]], Array(100).fill(["nowhere"]))).toThrow(refused);
  const keys = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`key${index}`, index]));
  const [wide, wanted] = [Array(100).fill({ ...keys, last: 1 }), Array(100).fill({ ...keys, last: 2 })];
  expect(contains([...wide, { last: 2 }], [{ last: 2 }])).toBe(true);
  expect(() => contains([...wide, { ...keys, last: 2 }], wanted)).toThrow(refused);
});

test("every value contains itself", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(contains(value, value)).toBe(true);
    }),
    { numRuns: 300 },
  );
});
