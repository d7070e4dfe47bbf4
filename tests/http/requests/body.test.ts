import fc from "fast-check";
import { expect, test } from "vitest";
import { excessOf, maxKeys } from "@millrace/engine/http/validate";

function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

test("depth counts the brackets outside of strings", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), fc.string(), (value, noise) => {
      const wrapped = { [`[{"\\${noise}`]: value, text: noise };
      const depth = depthOf(wrapped);
      expect(excessOf(JSON.stringify(wrapped), depth)).toBeUndefined();
      expect(excessOf(JSON.stringify(wrapped), depth - 1)).toBe("depth");
    }),
    { numRuns: 300 },
  );
});

test("200,000 levels are counted without recursion", () => {
  expect(excessOf("[".repeat(200_000), 64)).toBe("depth");
});

test("keys are counted per object, and not inside strings", () => {
  const object = (keys: number): object => Object.fromEntries(Array.from({ length: keys }, (_, key) => [key, ":"]));
  const small = Array.from({ length: maxKeys + 1 }, () => ({ text: ':{"a":1}' }));
  expect(excessOf(JSON.stringify({ small, large: object(maxKeys) }))).toBeUndefined();
  expect(excessOf(JSON.stringify([{ a: [] }, object(maxKeys + 1)]))).toBe("keys");
});
