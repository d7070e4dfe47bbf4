import fc from "fast-check";
import { expect, test } from "vitest";
import { contains } from "../../src/storage/contains.ts";

test.each([
  [{ a: 1, b: 2 }, { a: 1 }, true],
  [{ a: { b: 1, c: 2 } }, { a: { c: 2 } }, true],
  [{ a: [1, 2] }, { a: [2] }, true],
  [{ a: 1 }, { a: "1" }, false],
  [{}, { a: null }, false],
  [{ a: [1] }, { a: { 0: 1 } }, false],
  [{}, { toString: {} }, false],
])("%j contains %j: %j", (value, filter, expected) => {
  expect(contains(value, filter)).toBe(expected);
});

test("every value contains itself", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(contains(value, value)).toBe(true);
    }),
    { numRuns: 300 },
  );
});
