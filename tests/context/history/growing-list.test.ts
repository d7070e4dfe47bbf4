import { HumanMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { expect, it } from "vitest";
import { overGrowingList } from "../../../src/context/compression/growing-list.ts";

const all = Array.from({ length: 12 }, (_, at) => new HumanMessage(String(at)));

it("what a list comes to is what it would be without a memory, however lists grow, shrink and part", () => {
  const lists = fc.array(fc.array(fc.constantFrom(...all), { maxLength: 8 }), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(lists, (asked) => {
      const joined = overGrowingList("", (text, message) => text + message.text);
      for (const list of asked) {
        expect(joined(list)).toBe(list.map(({ text }) => text).join(""));
        list.push(...all.slice(0, 2));
        expect(joined(list)).toBe(list.map(({ text }) => text).join(""));
      }
    }),
  );
});

it("a message is looked at once while its list only grows", () => {
  const seen: string[] = [];
  const count = overGrowingList(0, (number, message) => {
    seen.push(message.text);
    return number + 1;
  });
  expect([3, 3, 5].map((length) => count(all.slice(0, length)))).toEqual([3, 3, 5]);
  expect(seen).toEqual(["0", "1", "2", "3", "4"]);
});
