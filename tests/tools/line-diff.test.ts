import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { diffLines, nearChanges, type DiffLine } from "../../src/tools/undo/line-diff.ts";

const shown = (lines: DiffLine[]) =>
  lines.map(({ kind, text }) => `${{ same: " ", removed: "-", added: "+" }[kind]}${text}`);
const text = (lines: DiffLine[], without: DiffLine["kind"]) =>
  lines.filter(({ kind }) => kind !== without).map((line) => line.text);

describe("a comparison of two texts", () => {
  it.each<[string, string, string, string[]]>([
    ["equal texts", "a\nb\n", "a\nb\n", [" a", " b"]],
    ["two empty texts", "", "", []],
    ["a new text", "", "a\nb\n", ["+a", "+b"]],
    ["a text that is gone", "a\nb\n", "", ["-a", "-b"]],
    ["a changed line", "a\nb\nc\n", "a\nB\nc\n", [" a", "-b", "+B", " c"]],
    ["a line put in", "a\nc\n", "a\nb\nc\n", [" a", "+b", " c"]],
    ["a line taken out", "a\nb\nc\n", "a\nc\n", [" a", "-b", " c"]],
    ["a newline at the end", "a", "a\n", ["-a", "+a"]],
    [
      "two changes with something between",
      "1\n2\n3\n4\n",
      "one\n2\n3\nfour\n",
      ["-1", "+one", " 2", " 3", "-4", "+four"],
    ],
  ])("shows %s", (_, before, after, expected) => {
    expect(shown(diffLines(before, after))).toEqual(expected);
  });

  it("numbers the lines of both sides", () => {
    expect(diffLines("a\nb\n", "a\nx\ny\n").map((line) => [line.old_line, line.new_line])).toEqual([
      [1, 1],
      [2, null],
      [null, 2],
      [null, 3],
    ]);
  });

  it("holds both texts, whatever they are, and no more changes than replacing everything", () => {
    const line = fc.constantFrom("a", "b", "c", "", "d");
    const lines = fc.array(line, { maxLength: 30 });
    fc.assert(
      fc.property(lines, lines, (old, now) => {
        const found = diffLines(old.map((one) => `${one}\n`).join(""), now.map((one) => `${one}\n`).join(""));
        expect(text(found, "added")).toEqual(old);
        expect(text(found, "removed")).toEqual(now);
        expect(found.filter(({ kind }) => kind !== "same").length).toBeLessThanOrEqual(old.length + now.length);
      }),
    );
  });

  it("shows texts that are far apart as one replaced block, and still whole", () => {
    const [old, now] = ["old", "new"].map((word) => Array.from({ length: 600 }, (_, index) => `${word} ${index}`));
    const found = diffLines(`same\n${old?.join("\n")}\n`, `same\n${now?.join("\n")}\n`);
    expect(text(found, "added")).toEqual(["same", ...(old ?? [])]);
    expect(text(found, "removed")).toEqual(["same", ...(now ?? [])]);
    expect(found.slice(1, 601).every(({ kind }) => kind === "removed")).toBe(true);
  });

  it("leaves out what is far from any change", () => {
    const lines = Array.from({ length: 20 }, (_, index) => `${index}`);
    const now = lines.with(10, "ten");
    expect(shown(nearChanges(diffLines(lines.join("\n"), now.join("\n")), 2))).toEqual([
      " 8",
      " 9",
      "-10",
      "+ten",
      " 11",
      " 12",
    ]);
  });
});
