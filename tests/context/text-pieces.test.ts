import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { textPieces } from "../../src/context/text-pieces.ts";

const text = fc
  .array(
    fc.oneof(
      fc.string({ unit: "binary", maxLength: 400 }),
      fc.stringMatching(/^[a-z ]{0,900}$/u),
      fc.constantFrom("\n", "  ", "😀".repeat(150), "人".repeat(700)),
    ),
    { maxLength: 6 },
  )
  .map((parts) => parts.join(""));

describe("cutting a text in pieces", () => {
  it("loses nothing, keeps every piece short, and cuts no character in half", () => {
    fc.assert(
      fc.property(text, (whole) => {
        const pieces = [...textPieces(whole)];
        expect(pieces.join("")).toBe(whole);
        for (const piece of pieces) {
          expect(piece.length).toBeGreaterThan(0);
          expect(piece.length).toBeLessThanOrEqual(512);
        }
        if (whole.isWellFormed()) expect(pieces.every((piece) => piece.isWellFormed())).toBe(true);
      }),
    );
  });

  it("cuts plain words only where a word begins", () => {
    const pieces = [...textPieces("seven words of plain text follow here ".repeat(100))];
    expect(pieces.length).toBeGreaterThan(5);
    expect(pieces.slice(1).every((piece) => piece.startsWith(" "))).toBe(true);
  });

  it.each([
    ["one endless word", "a"],
    ["a text without spaces", "人"],
    ["nothing but spaces", " "],
  ])("cuts %s into short stretches", (_, character) => {
    const pieces = [...textPieces(character.repeat(10_000))];
    expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThanOrEqual(128);
  });
});
