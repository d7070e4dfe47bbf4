import { describe, expect, it } from "vitest";
import { valuesIn } from "../../src/prompts/found-values.ts";
import { fill } from "../../src/prompts/template.ts";

const editor = "Current document: {path}\nIts beginning: {preview}\nUnsaved: {unsaved}";

describe("the values of a text that was filled", () => {
  it.each([
    ["between words", "Words that confirm: {keywords}. Ask.", { keywords: "yes, 好" }],
    ["at both ends", "{first} and {last}", { first: "one\ntwo", last: "three" }],
    ["with braces of its own", 'As {"json": {value}}', { value: "[1]" }],
    ["of lines of which some are left out", editor, { path: "a.md", unsaved: "yes" }],
    ["that stand twice", "{name}, or {name}!", { name: "Ada" }],
    ["that it has none of", "Go on.", {}],
  ])("are found %s", (_, content, values) => {
    const variables = ["first", "last", "keywords", "value", "path", "preview", "unsaved", "name"];
    const text = fill(content, variables, values);
    const around = /^\{|\}$/u.test(content) ? text : `Before.\n\n${text}\n\nAfter.`;
    expect(valuesIn(content, variables, ["Another text.", around])).toEqual(values);
  });

  it.each([
    ["another text", "Hello, {name}!", "Good day, Ada!"],
    ["a value that is not the same twice", "{name}, or {name}!", "Ada, or Bob!"],
    ["nothing", "Hello, {name}!", ""],
  ])("are not found in %s", (_, content, text) => {
    expect(valuesIn(content, ["name"], [text])).toBeUndefined();
  });
});
