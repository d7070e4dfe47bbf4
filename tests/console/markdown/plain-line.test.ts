import { describe, expect, it } from "vitest";
import { plainLine } from "../../../console/markdown/plain-line.ts";
import { plainText } from "../../../console/markdown/plain-text.ts";

describe("a line of Markdown as plain words", () => {
  it.each([
    ["strong words", "The miller keeps **at least a scoop** of it", "The miller keeps at least a scoop of it"],
    ["strong words in Chinese", "这是**“重要”**的", "这是“重要”的"],
    ["emphasis", "It is *new*, _and_ ***bold***, and ~~old~~.", "It is new, and bold, and old."],
    ["code", "Run `npm test` in ``a `b` c``", "Run npm test in a `b` c"],
    ["marks around code", "**`tollOf`** took the smaller", "tollOf took the smaller"],
    ["marks within code", "`**kwargs` and `a_b_c`", "**kwargs and a_b_c"],
    ["a block of code", "So: ```js const a = `b * c*`; ``` Done", "So: const a = `b * c*`;  Done"],
    ["headings", "# Result ## What **was** done", "Result What was done"],
    ["lists and tasks", "- [x] Done", "Done"],
    ["a list behind a colon", "It takes the larger one: - 80 kg: 5 kg", "It takes the larger one: 80 kg: 5 kg"],
    ["a quote", "> So it is", "So it is"],
    [
      "links",
      "See [the **docs**](https://a.example/b_(c)) and <https://d.example>",
      "See the docs and https://d.example",
    ],
    ["pictures", "![A wheel](wheel.png) turns", "A wheel turns"],
    ["what is escaped", String.raw`\*not emphasis\*`, "*not emphasis*"],
  ])("has no marks of %s", (_, markdown, words) => {
    expect(plainLine(markdown)).toBe(words);
  });

  it.each([
    ["strong words", "It is **at le", "It is at le"],
    ["a mark", "It is done **", "It is done "],
    ["code", "Look at `src/a", "Look at src/a"],
    ["a block of code", "```ts const a", "const a"],
    ["a link", "See [the docs](https://a.exam", "See the docs"],
  ])("has none where it is cut off within %s", (_, markdown, words) => {
    expect(plainLine(markdown)).toBe(words);
  });

  it.each([
    "2 * 3 * 4, 2**3 and 2 ** 3",
    "snake_case_name, __init__.py",
    "src/*.ts and lib/*.ts",
    "C# and issue #5",
    "a - b, [1] and a[0]",
    "1. First 2. Second",
    "~/notes, 5 > 3 < 7",
    "今天天气很好",
  ])("leaves `%s` as it is", (words) => {
    expect(plainLine(words)).toBe(words);
  });
});

it("reads a whole text without marks; of addresses only those that have no words", () => {
  const text = "## See\n\n- <https://a.example>, https://b.example\n- [the **docs**](https://c.example)";
  expect(plainText(text).split(/\n+ */u)).toEqual(["See", "https://a.example, https://b.example", "the docs"]);
});
