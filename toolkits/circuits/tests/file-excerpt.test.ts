import { describe, expect, it } from "vitest";
import { fileExcerpt } from "../collectors/file-excerpt.ts";
import { countText } from "../../../src/context/tokens/tokens.ts";

const lines = (count: number, line: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => line(index)).join("\n");
const circuit = (count: number): string =>
  `Title\n.subckt stage in out\nR0 in out 1k\n.ends\n${lines(count, (index) => `R${index} a b ${index}k`)}\n.end`;

describe("a file by its size (CTX-17)", () => {
  it("is shown whole when it is small", () => {
    const text = circuit(100);
    expect(fileExcerpt("a.cir", text)).toEqual({ facts: [], text });
  });

  it("keeps beginning and end when it is larger, and of a circuit it says what it is made of", () => {
    const text = circuit(1000);
    const { facts, text: shown } = fileExcerpt("lib/a.CIR", text);
    expect(countText(text)).toBeGreaterThan(2000);
    expect(countText(shown)).toBeLessThanOrEqual(2000);
    expect(shown).toMatch(/^Title\n[^]*\n\[… \d+ lines left out …\]\n[^]*\n\.end$/u);
    expect(facts).toEqual(["Title: Title", "Sub-circuits: stage", "Components: R 1001"]);
    expect(fileExcerpt("a.txt", text).facts).toEqual([]);
  });

  it("is shown by its structure if it is very large", () => {
    const text = lines(6000, (index) => (index % 1000 === 10 ? `## Part ${index}` : `some words ${index}`));
    const { facts, text: shown } = fileExcerpt("a.md", text);
    expect(facts).toEqual([
      "6000 lines; its parts by their lines:",
      ...[10, 1010, 2010, 3010, 4010, 5010].map((index) => `${index + 1}: ## Part ${index}`),
    ]);
    expect(shown.startsWith("some words 0\n")).toBe(true);
    expect(shown.endsWith("some words 5999")).toBe(true);
    expect(countText(shown)).toBeLessThanOrEqual(1000);
  });

  it.each([
    [1999, true, false],
    [2000, false, false],
    [8000, false, false],
    [8001, false, true],
  ])("with %i tokens is whole: %s, and is shown by its structure: %s", (tokens, isWhole, hasStructure) => {
    const line = "word ".repeat(20);
    const text = line.repeat(Math.ceil((tokens * 4) / line.length)).slice(0, tokens * 4);
    expect(countText(text)).toBe(tokens);
    const { facts, text: shown } = fileExcerpt("a.txt", text);
    expect([shown === text, facts.length > 0]).toEqual([isWhole, hasStructure]);
  });

  it("names at most 60 parts", () => {
    const { facts } = fileExcerpt(
      "a.ts",
      lines(5000, (index) => `function work${index}() {`),
    );
    expect(facts).toHaveLength(62);
    expect(facts.at(-1)).toBe("[… 4940 more parts …]");
  });

  it("does not stall on one endless line", () => {
    const { text } = fileExcerpt("a.txt", " ".repeat(200_000));
    expect(countText(text)).toBeLessThanOrEqual(1000);
  });
});
