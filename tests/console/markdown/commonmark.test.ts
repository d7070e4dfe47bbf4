import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parser } from "../../../console/markdown/parser.ts";
import { projectFolder } from "../../support/source-files.ts";

/** The examples of CommonMark 0.29, with the tree of each, as the package of the parser brings them. */
const examples = readFileSync(join(projectFolder, "node_modules/@lezer/markdown/test/test-markdown.ts"), "utf8");
const names = Object.fromEntries(
  [
    ...readFileSync(join(projectFolder, "node_modules/@lezer/markdown/test/spec.ts"), "utf8").matchAll(
      /^ {2}(\w+): "(\w+)"/gmu,
    ),
  ].map(([, short = "", name = ""]) => [short, name]),
);

interface Example {
  name: string;
  text: string;
  tree: string;
}

/** Reads `{P:some {Em:{e:*}words{e:*}}}`, in which every part has its name before it. */
function read(name: string, source: string): Example {
  const parts: string[] = [];
  const open: { name: string; from: number; place: number }[] = [];
  let text = "";
  for (let at = 0; at < source.length; at += 1) {
    const begun = /^\{(\w+):/u.exec(source.slice(at, at + 30));
    if (begun !== null) {
      const [all, short = ""] = begun;
      open.push({ name: names[short] ?? short, from: text.length, place: parts.push("") - 1 });
      at += all.length - 1;
    } else if (source[at] === "}") {
      const part = open.pop();
      if (part === undefined) throw new Error(`${name}: a part ends that has not begun.`);
      parts[part.place] = `${part.name} ${part.from}-${text.length}`;
    } else {
      text += source[at];
    }
  }
  return { name, text, tree: parts.join("\n") };
}

function partsOf(tree: ReturnType<typeof parser.parse>): string {
  const parts: string[] = [];
  tree.iterate({ enter: ({ name, from, to }) => void (name !== "Document" && parts.push(`${name} ${from}-${to}`)) });
  return parts.join("\n");
}

/** Raw HTML is no part of the console's Markdown: it is shown as it is written. */
const isHtml = ({ name, tree }: Example): boolean =>
  /HTML|Comment|ProcessingInstruction/u.test(tree) || /HTML/u.test(name);

/** The first part of a kind, without its marks. */
function found(kind: string, text: string): string | undefined {
  let words: string | undefined;
  parser.parse(text).iterate({
    enter({ name, from, to, node }) {
      if (name !== kind || words !== undefined) return;
      const [first, last] = [node.firstChild, node.lastChild];
      words = text.slice(first?.to ?? from, last?.from ?? to);
    },
  });
  return words;
}

/** Texts with one emphasis each, which the usual rule for blanks and punctuation takes for none in many of them. */
const besideCjk = [
  "**“重要”**的事",
  "他说**“好”**。",
  "这是**重点**吗",
  "**重点：**说明",
  "**（注）**见下文",
  "见**（注）**下文",
  "用**《论语》**的话",
  "**《红楼梦》**是小说",
  "价格**100元**起",
  "**注意！**不要关机",
  "请**注意！**不要关机",
  "**问：**为什么？",
  "**“甲”**、乙",
  "甲、**“乙”**和丙",
  "**API**接口",
  "调用**API**接口",
  "调用**`run()`**函数",
  "**`run()`**函数",
  "**50%**的人",
  "有**50%**的人",
  "*强调*文字",
  "文字*强调*文字",
  "*“强调”*的文字",
  "文字*（强调）*文字",
  "**「重要」**です",
  "これは**「重要」**です",
  "これは**重要。**だから",
  "**注意：**電源を切る",
  "**（例）**を見る",
  "東京**（首都）**は",
  "*「強調」*の文",
  "文*強調*文",
  "カタカナ**テスト**です",
  "**テスト！**です",
  "**テスト（一）**の結果",
  "한국어**(강조)**는",
  "**“강조”**는",
  "이것은**강조**입니다",
  "*강조*는",
  "**《책》**을 읽다",
] as const;

/** The kind of the emphasis in one of these texts, and what stands in it. */
function wanted(text: string): [kind: string, words: string] {
  const [, marks = "", words = ""] = /(\*+)(.*)\1/u.exec(text) ?? [];
  return [marks.length === 2 ? "StrongEmphasis" : "Emphasis", words];
}

describe("Markdown", () => {
  it("is read as at least 98 of 100 examples of CommonMark say that have no raw HTML (UI-02)", () => {
    const known = [...examples.matchAll(/test\("([^"]+ \(example \d+\))", `\n?((?:[^`\\]|\\[\s\S])*)`\)/gu)].map(
      // The text of a template of JavaScript, of which these two signs are escaped.
      ([, name = "", source = ""]) => read(name, source.replaceAll(/\\([`\\$])/gu, "$1")),
    );
    const tested = known.filter((example) => !isHtml(example));
    expect(known.length).toBeGreaterThan(600);
    const wrong = tested.filter(({ text, tree }) => partsOf(parser.parse(text)) !== tree);
    const missed = wrong.map(({ name }) => name);
    expect(1 - wrong.length / tested.length, missed.join(", ")).toBeGreaterThanOrEqual(0.98);
  });

  it.each([
    ["Table", "| a | b |\n|---|:-:|\n| 1 | 2 |"],
    ["Table", "a | b\n--- | ---\n1 | 2"],
    ["Task", "- [ ] open"],
    ["Task", "1. [x] done"],
    ["Strikethrough", "~~gone~~"],
    ["URL", "see https://example.com/a?b=c."],
    ["URL", "see www.example.com"],
    ["URL", "write to someone@example.com"],
  ])("has GitHub's %s: %s", (kind, text) => {
    expect(partsOf(parser.parse(text))).toMatch(new RegExp(`^${kind} `, "mu"));
  });

  it.each(besideCjk)("reads %s beside Chinese, Japanese and Korean", (text) => {
    const [kind, words] = wanted(text);
    expect(found(kind, text)).toBe(words);
  });

  it("takes no mark for emphasis beside Chinese that has blanks around it", () => {
    for (const text of ["三 * 四 * 五", "甲 ** 乙 ** 丙"])
      expect(found("Emphasis", text) ?? found("StrongEmphasis", text)).toBe(undefined);
  });
});
