import fc from "fast-check";
import { expect, it } from "vitest";
import { beginsWith } from "@millrace/engine/message-list";

it("a list begins with another one when the other's elements stand at its beginning, one by one", () => {
  const list = fc.array(fc.constantFrom("a", "b"), { maxLength: 6 });
  fc.assert(
    fc.property(list, list, (left, right) => {
      expect(beginsWith(left, right)).toBe(left.join("").startsWith(right.join("")));
      expect(beginsWith([...left, ...right], left)).toBe(true);
    }),
  );
});

it("elements are the same only when they are the same object", () => {
  const one = {};
  expect(beginsWith([one, {}], [one])).toBe(true);
  expect(beginsWith([{}], [{}])).toBe(false);
});
