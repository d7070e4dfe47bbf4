import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkContent, checkValues, hasError, maxContentLength } from "../../src/prompts/check-content.ts";
import { defineTemplate, fill, placeholdersOf } from "../../src/prompts/template.ts";

describe("filling a text", () => {
  it.each([
    ["a variable", "Hello {name}!", { name: "Ada" }, "Hello Ada!"],
    ["a part of a variable", "Gain {goals.gain.min} dB", { goals: { gain: { min: 20 } } }, "Gain 20 dB"],
    ["an object as JSON", "Goals: {goals}", { goals: { gain: [1, 2] } }, 'Goals: {"gain":[1,2]}'],
    ["a list as JSON", "[{name}]", { name: ["a", "b"] }, '[["a","b"]]'],
    ["numbers and booleans", "{name}/{goals}", { name: 0, goals: false }, "0/false"],
    ["a missing one as nothing", "Hello {name}!", {}, "Hello !"],
    ["null as nothing", "a {name} b", { name: null }, "a  b"],
    ["a missing part as nothing", "a {goals.gain.min} b", { goals: { gain: null } }, "a  b"],
    ["no part of what every object has", "a {goals.constructor.name} b", { goals: {} }, "a  b"],
    [
      "braces of JSON as they are",
      '{"name": {"a": 1}, "list": [{}]}',
      { name: "Ada" },
      '{"name": {"a": 1}, "list": [{}]}',
    ],
    [
      "braces of SPICE as they are",
      "R1 out 0 {rload}\nC1 a b {2*cap}",
      { name: "x" },
      "R1 out 0 {rload}\nC1 a b {2*cap}",
    ],
    ["braces in values as they are", "{name} {goals}", { name: "{goals}", goals: "$& {name}" }, "{goals} $& {name}"],
    ["without lines that would be empty", "A\nName: {name}\n{goals}.\nB", {}, "A\nB"],
    ["lines with more than a value in any case", "A {name} B\nName: {name} {goals}", {}, "A  B\nName:  "],
  ])("keeps or replaces %s", (_, content, values, expected) => {
    expect(fill(content, ["name", "goals"], values)).toBe(expected);
  });

  it("changes nothing in a text that names no variable, whatever its braces", () => {
    const piece = fc.constantFrom("{", "}", "{{", '{"a":', "{1}", "{a-b}", "{}", " ", "x", "\n", "{other}");
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const content = pieces.join("");
        expect(fill(content, ["name"], { name: "Ada", other: "no" })).toBe(content);
      }),
    );
  });

  it("leaves a long line of spaces as it is, at once", () => {
    const spaces = " ".repeat(400_000);
    for (const line of [`${spaces}x`, `${spaces}:${spaces}x`]) expect(fill(line, ["a"], {})).toBe(line);
  });

  it("puts in any value word for word", () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), (value) => {
        expect(fill("<{name}>", ["name"], { name: value })).toBe(`<${value}>`);
      }),
    );
  });

  it("finds the names between braces, each once, without their parts", () => {
    expect(placeholdersOf('{a} {b.c} {a} {b} {"json": 1} {1} { c }')).toEqual(["a", "b"]);
  });

  it("types the variables by the template's lists", () => {
    const template = defineTemplate({
      name: "t",
      title: { en: "", zh: "" },
      description: "",
      required: ["a"],
      content: "{a}",
    });
    expect(template).toMatchObject({ required: ["a"], optional: [], fixed: false });
  });
});

describe("checking a text", () => {
  const rules = { variables: ["a", "b"], required: ["a"], missing: "error" as const };
  it.each([
    ["nothing", " \n\t", ["empty"], true],
    ["too much", `{a}${"x".repeat(maxContentLength)}`, ["too_long"], true],
    ["bytes that are no text", "{a}\u0000", ["unprintable"], true],
    ["a replaced character", "{a}\uFFFD", ["unprintable"], true],
    ["an unknown variable, which stays", "{a} {x}", ["unknown_variable"], false],
    ["no required variable", "{b}", ["missing_variable"], true],
    ["everything right", "{a} {b.c}", [], false],
  ])("finds %s", (_, content, kinds, isError) => {
    const problems = checkContent(content, rules);
    expect(problems.map(({ kind }) => kind)).toEqual(kinds);
    expect(hasError(problems)).toBe(isError);
  });

  it("only warns of a required variable where the rules say so", () => {
    expect(hasError(checkContent("{b}", { ...rules, missing: "warning" }))).toBe(false);
    expect(checkContent("x", { variables: [], required: [], missing: "error" })).toEqual([]);
  });

  it("names required values that are not given", () => {
    expect(checkValues({ b: 1 }, rules)).toMatchObject([{ kind: "missing_value", severity: "error", variable: "a" }]);
    expect(checkValues({ a: 0 }, rules)).toEqual([]);
  });
});
