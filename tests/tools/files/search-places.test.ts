import { execFileSync } from "node:child_process";
import { symlink } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { RE2JS } from "re2js";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ripgrepPath, searchPlaces, toRipgrep } from "../../../src/tools/workspace/ripgrep.ts";
import { locate } from "../../../src/tools/workspace/workspace-path.ts";
import { tools } from "../../../src/tools/index.ts";
import { aWorkspace, type Workspace } from "../../support/a-workspace.ts";

const program = await ripgrepPath();

let workspace: Workspace;
beforeEach(async () => {
  workspace = await aWorkspace();
});
afterEach(() => workspace[Symbol.asyncDispose]());

const files = {
  "a.txt": "needle\n",
  "b/needle.md": "nothing\r\n",
  "b/c/d.txt": "one\r\nneedle\r\n",
  "b-1.txt": "needle",
  ".hidden/x.txt": "needle\n",
  ".git/config": "needle\n",
  "node_modules/p/i.js": "needle\n",
  ".millrace/x": "needle\n",
  "ignored.log": "needle\n",
  ".gitignore": "*.log\n",
  "binary.bin": "needle\0\n",
};

async function places(regex: string, by: string | null, path = "."): Promise<string[]> {
  const start = await locate(workspace.root, path);
  const wanted = { regex, isLiteral: /^\w+$/u.test(regex), maxFileBytes: 8 * 1024 * 1024 };
  const found: string[] = [];
  for await (const place of (await searchPlaces(workspace.context, start, wanted, by)).places) found.push(place.path);
  return found;
}

describe("the places of a search", () => {
  it("are all files without ripgrep, in the order of the walk", async () => {
    await workspace.fill(files);
    const all = await places("needle", null);
    expect(all).toEqual([
      ".gitignore",
      "a.txt",
      "b-1.txt",
      "binary.bin",
      "ignored.log",
      ".hidden/x.txt",
      "b/needle.md",
      "b/c/d.txt",
    ]);
  });

  it.runIf(program !== null)(
    "are those with a match by ripgrep, in the same order, whatever is hidden or ignored",
    async () => {
      await workspace.fill(files);
      await symlink("../a.txt", join(workspace.root, "b/link.txt"));
      const all = await places("needle", null);
      const narrowed = await places("needle", program);
      expect(narrowed).toEqual(
        all.filter(
          (path) => !["b/needle.md", ".gitignore"].includes(path) && (path !== "binary.bin" || narrowed.includes(path)),
        ),
      );
      expect(await places("^need.e$", program, "b")).toEqual(["b/c/d.txt"]);
    },
  );

  it("are every file when ripgrep cannot be started or does not take the expression", async () => {
    await workspace.fill({ "a.txt": "x{,3}\n", "b.txt": "y\n" });
    expect(await places("x", "/no/such/program")).toEqual(["a.txt", "b.txt"]);
    if (program !== null) expect(await places("x{", program)).toEqual(["a.txt", "b.txt"]);
  });
});

describe("an expression for ripgrep", () => {
  it.each([
    ["a.*b", "a.*b"],
    ["(?i)load(?:Config)?\\(", "(?i)load(?:Config)?\\("],
    ["\\bword\\b", "(?-u:\\b)word(?-u:\\b)"],
    ["\\d+$", "[0-9]+\\r?$"],
    ["[a-z_]+", "[a-z_]+"],
    ["[^a]", "[^a]"],
  ])("%s is %s", (regex, expected) => {
    expect(toRipgrep(regex)).toBe(expected);
  });

  it.each([
    "$\\b",
    "(?:a$|b)c",
    "[[:alpha:]]",
    "[\\d]",
    "[a&&b]",
    "[a--b]",
    "(?s)a",
    "(?P<x>a)",
    "\\pL",
    "\\x41",
    "[]a]",
    "[a",
    "\\QA\\E",
    "\\z",
  ])("%s has none", (regex) => {
    expect(toRipgrep(regex)).toBeUndefined();
  });
});

describe("search_content", () => {
  const letter = fc.constantFrom("a", "B", " ", "1", "_", "é", "-", "\r", "\t", "ſ", "(", ".");
  const line = fc.array(letter, { maxLength: 8 }).map((letters) => letters.join(""));
  const atom = fc.constantFrom(
    "a",
    "b",
    "B",
    "1",
    "é",
    "s",
    ".",
    "\\w",
    "\\W",
    "\\d",
    "\\s",
    "\\S",
    "\\b",
    "\\B",
    "^",
    "$",
    "[a-c]",
    "[^a]",
    "\\.",
    "\\(",
    "(?:a|1)",
    " ",
  );
  const repeated = fc
    .tuple(atom, fc.constantFrom("", "", "", "*", "+", "?", "{2}"))
    .map(([one, times]) => (/^[\^$]|\\b|\\B/iu.test(one) ? one : one + times));
  const expression = fc
    .tuple(fc.constantFrom("", "(?i)"), fc.array(repeated, { minLength: 1, maxLength: 4 }))
    .map(([flag, parts]) => flag + parts.join(""));

  it("finds in a folder exactly the lines that the expression matches, with ripgrep or without", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(line, { maxLength: 3 }), { minLength: 1, maxLength: 4 }),
        expression,
        async (texts, regex) => {
          await using own = await aWorkspace();
          await own.fill(
            Object.fromEntries(texts.map((lines, index) => [`f${index}.txt`, lines.map((one) => `${one}\n`).join("")])),
          );
          const compiled = RE2JS.compile(regex);
          const expected = texts.flatMap((lines, index) =>
            lines.flatMap((one, at) => (compiled.test(one.replace(/\r$/u, "")) ? [`f${index}.txt:${at + 1}`] : [])),
          );
          const { data } = await own.call(tools.search_content, { path: ".", regex, context_lines: 0 });
          const { matches } = data as { matches: { path: string; line: number }[] };
          expect(matches.map((one) => `${one.path}:${one.line}`)).toEqual(expected);
        },
      ),
      { numRuns: 150 },
    );
  });

  it("answers in a workspace of many files, with a bounded answer", async () => {
    const many = Object.fromEntries(
      Array.from({ length: 3000 }, (_, index) => [`d${index % 50}/f${index}.txt`, `line ${index}\nneedle ${index}\n`]),
    );
    await workspace.fill(many);
    const { content, data } = await workspace.call(tools.search_content, { path: ".", regex: "needle \\d+" });
    expect((data as { matches: unknown[] }).matches).toHaveLength(200);
    expect(content?.length).toBeLessThan(16_000);
    expect(content).toContain("d0/f0.txt\n1- line 0\n2: needle 0");
    const last = await workspace.call(tools.search_content, { path: ".", regex: "^needle 2999$", context_lines: 0 });
    expect(last.content).toBe("d49/f2999.txt\n2: needle 2999");
  });
});

it.runIf(program !== null)("the program of ripgrep runs", () => {
  expect(execFileSync(program ?? "", ["--version"], { encoding: "utf8" })).toMatch(/^ripgrep 15\./u);
});
