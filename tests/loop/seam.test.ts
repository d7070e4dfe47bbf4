import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { overlapAtSeam, overlapMayGrow } from "../../src/loop/reply/seam.ts";

const word = fc.stringMatching(/^[a-z]{1,9}$/u);
/** Running text in which no stretch of a seam's length comes twice in a row: every fourth word carries its place. */
const prose = fc
  .array(word, { minLength: 20, maxLength: 200 })
  .map((words) => words.map((text, index) => (index % 4 === 0 ? `${text}${index}` : text)).join(" "));

describe("the seam between two pieces of an output", () => {
  it.each([
    ["The quick brown fox jumps", " over the dog", 0],
    ["The quick brown fox jumps", "quick brown fox jumps over", 21],
    ["said na", "na na", 0],
    ["a short end", "end of it", 0],
    [`| a | b |\n${"-".repeat(60)}`, `${"-".repeat(40)}\n| 1 | 2 |`, 0],
    ["row one, value\nrow one, value\n", "row one, value\nlast", 0],
    ["每一步都写在账本里，每次调用都有结果。", "每次调用都有结果。然后继续。", 9],
    ["每一步都写在账本里，每次调用都有结果。", "结果。然后继续。", 0],
    ["", "anything at all, and more of it", 0],
  ])("%j followed by %j repeats %i characters", (text, next, expected) => {
    expect(overlapAtSeam(text, next)).toBe(expected);
  });

  it("takes a whole repeated end for an overlap, however much of it is repeated", () => {
    fc.assert(
      fc.property(prose, fc.nat(), fc.nat(), (text, at, back) => {
        const cut = 40 + (at % (text.length - 40));
        const repeated = 16 + (back % Math.min(cut - 16, 1500));
        const next = text.slice(cut - repeated);
        expect(text.slice(0, cut) + next.slice(overlapAtSeam(text.slice(0, cut), next))).toBe(text);
      }),
    );
  });

  it("changes nothing where the next piece goes on exactly", () => {
    fc.assert(
      fc.property(prose, fc.nat(), (text, at) => {
        const cut = at % text.length;
        expect(overlapAtSeam(text.slice(0, cut), text.slice(cut))).toBe(0);
      }),
    );
  });

  it("comes to the same when the piece is read character by character", () => {
    fc.assert(
      fc.property(prose, fc.nat(), fc.nat(), (text, at, back) => {
        const cut = 40 + (at % (text.length - 40));
        const before = text.slice(0, cut);
        const next = text.slice(Math.max(0, cut - (back % 60)));
        let held = "";
        for (const character of next) {
          held += character;
          if (!overlapMayGrow(before, held)) break;
        }
        expect(overlapAtSeam(before, held)).toBe(overlapAtSeam(before, next));
      }),
    );
  });
});
