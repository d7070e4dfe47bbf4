import fc from "fast-check";
import { expect, test } from "vitest";
import { nestedDeeperThan } from "../../src/http/body.ts";

function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

test("depth counts the brackets that are not inside strings", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), fc.string(), (value, noise) => {
      const wrapped = { [`[{"\\${noise}`]: value, text: noise };
      const depth = depthOf(wrapped);
      expect(nestedDeeperThan(JSON.stringify(wrapped), depth)).toBe(false);
      expect(nestedDeeperThan(JSON.stringify(wrapped), depth - 1)).toBe(true);
    }),
    { numRuns: 300 },
  );
});

test("200,000 levels are noticed without a deep stack", () => {
  expect(nestedDeeperThan("[".repeat(200_000), 64)).toBe(true);
});
