import { describe, expect, it } from "vitest";
import { filesNamed } from "../../src/user-rules/select-rules.ts";
import { readRuleFile } from "../../src/user-rules/rule-file.ts";

const read = (head: string, file = "/p/style.md") => readRuleFile(`---\n${head}\n---\n\nUse two spaces.\n`, file);

describe("a rule file", () => {
  it("has a head of three fields, and the rule after it", () => {
    const rule = read('description: Python\nglobs:\n  - "**/*.py"\n  - "**/*.pyi"\nalwaysApply: true');
    expect(rule).toMatchObject({
      description: "Python",
      globs: ["**/*.py", "**/*.pyi"],
      alwaysApply: true,
      text: "Use two spaces.",
      problems: [],
    });
  });

  it.each([
    ["globs: **/*.py", ["**/*.py"]],
    ["globs: *.py, src/**", ["*.py", "src/**"]],
    ["globs:\n  - **/*.py\n  - docs/*.md", ["**/*.py", "docs/*.md"]],
    ['globs: "*.{ts,tsx}"', ["*.{ts,tsx}"]],
    ["globs: []", []],
    ["globs:", []],
    ["description: none", []],
    ["", []],
  ])("may write its patterns as %j", (head, globs) => {
    expect(read(head)).toMatchObject({ globs, alwaysApply: false, problems: [] });
  });

  it.each([
    ["globs: 7\nalwaysApply: true", { alwaysApply: true, globs: [] }, "globs: expected a pattern"],
    [
      "alwaysApply: perhaps\nglobs: '*.c'",
      { alwaysApply: false, globs: ["*.c"] },
      "alwaysApply: expected true or false",
    ],
    ["description: [a]", { description: "" }, "description: expected a text"],
    ["description: [a", { description: "", globs: [] }, "not YAML"],
    ["a: &x 1\nb: *x", { globs: [] }, "not YAML"],
    ["just words", { globs: [] }, "holds no fields"],
    [`description: ${"x".repeat(20_000)}`, { description: "" }, "longer than 16384"],
  ])("whose head is broken (%j) keeps what is good, has defaults for the rest, and says so", (head, kept, problem) => {
    const rule = read(head);
    expect(rule).toMatchObject({ ...kept, text: "Use two spaces." });
    expect(rule.problems.join("; ")).toContain(problem);
  });

  it("without a head is a rule of defaults with a warning; an index needs none", () => {
    expect(readRuleFile("Use tabs.", "/p/a.md")).toMatchObject({
      text: "Use tabs.",
      alwaysApply: false,
      problems: [expect.stringContaining("has no head")],
    });
    expect(readRuleFile("See a.md.", "/p/index.md").problems).toEqual([]);
    expect(readRuleFile("---\nno end of the head", "/p/a.md").text).toBe("---\nno end of the head");
  });

  it("is read in linear time: with squares, these few kilobytes take longer than a test may", () => {
    const spaces = " ".repeat(16_000);
    for (const mark of ['"', "'", "#"].flatMap((end) => Array.from({ length: 12 }, (_, at) => end + at))) {
      expect(readRuleFile(`---\nglobs: *${spaces}${mark}\n---\nUse tabs.`, "/p/a.md")).toMatchObject({
        text: "Use tabs.",
        globs: [],
      });
    }
    expect(read(`globs: *.py${spaces}`).globs).toEqual(["*.py"]);
  }, 5_000);

  it("is for the files of its patterns", () => {
    const { isFor } = read("globs: *.py, docs/**");
    expect(["a.py", "src/b.PY", "docs/x/y.txt"].map(isFor)).toEqual([true, true, true]);
    expect(["a.pyc", "src/docs.md"].map(isFor)).toEqual([false, false]);
  });
});

describe("the files that a request names", () => {
  it.each([
    ["Look at src/a.py, please.", ["src/a.py"]],
    ["请修改 src/工具.ts 文件", ["src/工具.ts"]],
    ["请修改src/tool.ts文件", ["src/tool.ts"]],
    ["请修改app.tsx，然后读./b.md。", ["app.tsx", "b.md"]],
    ["`x/y-z.test.ts`: fix (README.md)!", ["x/y-z.test.ts", "README.md"]],
    ["Version 3.14 is out... really", []],
    ["", []],
  ])("of %j", (text, names) => {
    expect(filesNamed(text)).toEqual(expect.arrayContaining(names));
    if (names.length === 0) expect(filesNamed(text)).toEqual([]);
  });

  it("are bounded, whatever the text", () => {
    expect(filesNamed(Array.from({ length: 5_000 }, (_, index) => `${index}.md`).join(" "))).toHaveLength(200);
    expect(filesNamed("a.".repeat(200_000))).toEqual([]);
    expect(filesNamed("/".repeat(200_000))).toEqual([]);
  });
});
