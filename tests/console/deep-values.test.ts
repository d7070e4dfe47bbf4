import { describe, expect, it } from "vitest";
import { jsonText } from "../../console/text/json-text.ts";
import { changesOf } from "../../console/run/state-diff.ts";

const deep = (levels: number): string => `${'{"a":['.repeat(levels)}1${"]}".repeat(levels)}`;

describe("a value as JSON that can be read", () => {
  it.each([null, 1, "text", [], {}, { a: [1, { b: "c" }] }, { list: [[], {}] }])("has lines: %j", (value) => {
    expect(jsonText(value)).toBe(JSON.stringify(value, null, 2));
  });

  it("is nothing where there is no value", () => {
    expect(jsonText(undefined)).toBe("");
  });

  it("is whole and no longer than it must be, however deep it is", () => {
    const value: unknown = JSON.parse(deep(20_000));
    expect(jsonText(value).replaceAll(" ", "")).toBe(deep(20_000));
    const mixed = `[null, "x, y", {"a": ${deep(100).replaceAll(":", ": ")}, "b": true}]`;
    expect(jsonText(JSON.parse(mixed))).toBe(mixed);
  });

  it("is compared between two states at any depth", () => {
    const [from, to] = [20_000, 20_001].map((levels) => ({ channel: JSON.parse(deep(levels)) as unknown }));
    expect(changesOf(from, to)).toMatchObject([{ name: "channel", kind: "changed" }]);
  });
});
