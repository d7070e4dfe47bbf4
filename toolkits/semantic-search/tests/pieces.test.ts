import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { piecesOf } from "../workspace-index/pieces.ts";

const lines = (count: number, text = "x"): string => Array.from({ length: count }, () => text).join("\n");

describe("the pieces of a text", () => {
  it.each<[string, string, [number, number][]]>([
    ["nothing", "", []],
    ["blank lines", "\n \n\t\n", []],
    ["a line", "one\n", [[1, 1]]],
    ["a line after blank ones", "\n\n  one\n\n", [[3, 3]]],
    ["40 lines", lines(40), [[1, 40]]],
    [
      "41 lines",
      lines(41),
      [
        [1, 40],
        [41, 41],
      ],
    ],
    ["short paragraphs", `${lines(5)}\n\n${lines(5)}`, [[1, 11]]],
    [
      "long paragraphs",
      `${lines(5, "y".repeat(150))}\n\n${lines(2)}`,
      [
        [1, 5],
        [7, 8],
      ],
    ],
    [
      "a line longer than a piece",
      `a\n${"z".repeat(3200)}\nb`,
      [
        [1, 1],
        [2, 2],
        [2, 2],
        [2, 2],
        [3, 3],
      ],
    ],
    ["lines that end as in Windows", "a\r\n\r\nb\r\n", [[1, 3]]],
  ])("%s", (_, text, expected) => {
    expect(piecesOf(text).map(({ first_line, last_line }) => [first_line, last_line])).toEqual(expected);
  });

  it("hold every word of the text once, in order, in few characters, and say their lines", () => {
    const text = fc.array(fc.oneof(fc.string({ maxLength: 30 }), fc.string({ minLength: 1400, maxLength: 3100 })), {
      maxLength: 80,
    });
    fc.assert(
      fc.property(text, (parts) => {
        const whole = parts.map((part) => part.replaceAll(/[\r\n]/gu, " ").toWellFormed()).join("\n");
        const pieces = piecesOf(whole);
        const words = (of: string): string => of.replaceAll(/\s+/gu, "");
        expect(words(pieces.map((piece) => piece.text).join(""))).toBe(words(whole));
        for (const { first_line, last_line, text: own } of pieces) {
          expect(own.length).toBeLessThanOrEqual(1600);
          expect(last_line - first_line).toBeLessThan(40);
          const there = whole
            .split("\n")
            .slice(first_line - 1, last_line)
            .join("\n");
          expect(words(there)).toContain(words(own));
        }
      }),
      { numRuns: 60 },
    );
  });
});
