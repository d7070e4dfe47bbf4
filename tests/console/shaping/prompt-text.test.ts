import { describe, expect, it } from "vitest";
import { placesOf, replacedAt } from "../../../console/pages/prompts/found.ts";
import { completionsAt, lineOf, nearest, piecesOf, renamed } from "../../../console/pages/prompts/variables.ts";

const variables = { all: ["today", "keywords", "user_name"], required: ["today"] };

describe("the text of a prompt", () => {
  it("is taken apart into words and variables, by whether they are known and needed", () => {
    const pieces = piecesOf('On {today}, {user_name.first} {oops}: {"a": 1}', variables);
    expect(pieces.map(({ kind, text }) => [kind, text])).toEqual([
      ["words", "On "],
      ["required", "{today}"],
      ["words", ", "],
      ["variable", "{user_name.first}"],
      ["words", " "],
      ["unknown", "{oops}"],
      ["words", ': {"a": 1}'],
    ]);
  });

  it.each([
    ["{", 1, variables.all],
    ["a {Ke", 5, ["keywords"]],
    ["a {ke}", 5, ["keywords"]],
    ["{today} ", 8, []],
    ["{none", 5, []],
    ["word", 4, []],
  ])("completes %j at %i", (text, caret, names) => {
    expect(completionsAt(text, caret, variables.all).names).toEqual(names);
  });

  it.each([
    ["keywrds", "keywords"],
    ["usr_nam", "user_name"],
    ["Today", "today"],
    ["tomorrow", undefined],
    ["x", undefined],
  ])("takes %s for %s", (name, meant) => {
    expect(nearest(name, variables.all)).toBe(meant);
  });

  it.each([
    ["a mill and a Mill", "mill", [2, 13]],
    ["a mill and a Mill", "Mill", [13]],
    ["aaa", "aa", [0]],
    // This letter is longer in lower case.
    ["İ mill", "mill", [2]],
    ["mill", "", []],
  ])("finds in %j the words %j", (text, words, places) => {
    expect(placesOf(text, words)).toEqual(places);
  });

  it("gets other words at all places at once", () => {
    expect(replacedAt("a mill and a mill", [2, 13], 4, "river")).toBe("a river and a river");
    expect(replacedAt("aaaa", [0, 2], 2, "")).toBe("");
  });

  it("gets another variable in place of one, with its parts and only that", () => {
    expect(renamed("{usr} {usr.first} {usr_x} usr", "usr", "user_name")).toBe(
      "{user_name} {user_name.first} {usr_x} usr",
    );
    expect(lineOf("a\n{usr_x}\n{usr.first}", "usr")).toBe(3);
  });
});
