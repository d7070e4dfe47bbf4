import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createRuleFolders, type RuleSource } from "../../src/user-rules/rule-folders.ts";
import { rulesText, selectRules } from "../../src/user-rules/select-rules.ts";

let root: string;
let logged: object[];
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "millrace-rules-"));
  logged = [];
  mkdirSync(join(root, "project"));
});
afterEach(() => rmSync(root, { recursive: true }));

function open(): RuleSource {
  const logger = { warn: (fields: unknown) => void logged.push({ ...(typeof fields === "object" ? fields : {}) }) };
  return createRuleFolders({ workspace: join(root, "project"), home: join(root, "home"), logger });
}

function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

const always = (text: string): string => `---\nalwaysApply: true\n---\n${text}`;
const forFiles = (globs: string, text: string, description = ""): string =>
  `---\ndescription: "${description}"\nglobs: "${globs}"\n---\n${text}`;
const texts = (source: RuleSource): string[] => source.load().rules.map(({ text }) => text);

describe("the folders of rules", () => {
  it("are one of the project, the first that holds a rule, and both of the user, merged in this order", () => {
    write("project/.autocoderrules/notes.txt", "no rule");
    write("project/.auto-coder/.autocoderrules/b.md", always("second"));
    write("project/.auto-coder/.autocoderrules/a.md", always("first"));
    write("project/.auto-coder/autocoderrules/c.md", always("never"));
    write("home/.auto-coder/autocoderrules/d.md", always("third"));
    write("home/.auto-coder/autocoderrules/repos/project/e.md", always("fourth"));
    write("home/.auto-coder/autocoderrules/repos/other/f.md", always("never"));
    const source = open();
    expect(texts(source)).toEqual(["first", "second", "third", "fourth"]);
    expect(source.load().rules.map(({ scope, path }) => [scope, path])).toEqual([
      ["project", ".auto-coder/.autocoderrules/a.md"],
      ["project", ".auto-coder/.autocoderrules/b.md"],
      ["user", "~/.auto-coder/autocoderrules/d.md"],
      ["user", "~/.auto-coder/autocoderrules/repos/project/e.md"],
    ]);
    expect(logged).toEqual([]);
  });

  it("are joined by AGENTS.md in the root of the project, first and always, with or without a head", () => {
    write("project/AGENTS.md", "Run the tests before you finish.");
    write("project/.autocoderrules/a.md", always("second"));
    const source = open();
    expect(texts(source)).toEqual(["Run the tests before you finish.", "second"]);
    expect(source.load()).toMatchObject({ rules: [{ path: "AGENTS.md", scope: "project" }, {}], warnings: [] });
    expect(rulesText(selectRules(source.load().rules, []))).toContain("Run the tests before you finish.");
  });

  it("give a file once, also where the home of the user is the project", () => {
    write("project/.auto-coder/autocoderrules/a.md", always("once"));
    const workspace = join(root, "project");
    const source = createRuleFolders({ workspace, home: workspace, logger: { warn: () => undefined } });
    expect(texts(source)).toEqual(["once"]);
  });

  it("are looked at each time: new, changed and removed files count at once, and the same stays the same object", () => {
    const path = "project/.autocoderrules/a.md";
    const source = open();
    expect(texts(source)).toEqual([]);
    write(path, always("one"));
    expect(texts(source)).toEqual(["one"]);
    expect(source.load().rules[0]?.isFor).toBe(source.load().rules[0]?.isFor);
    write(path, always("two"));
    utimesSync(join(root, path), new Date(), new Date(Date.now() + 5000));
    expect(texts(source)).toEqual(["two"]);
    rmSync(join(root, path));
    expect(texts(source)).toEqual([]);
  });

  it("leave out what cannot be read, report file and reason once, and the other rules count", () => {
    write("project/.autocoderrules/good.md", always("good"));
    write("project/.autocoderrules/big.md", always("x".repeat(70_000)));
    write("project/.autocoderrules/binary.md", "a\0b");
    writeFileSync(join(root, "project/.autocoderrules/latin.md"), Buffer.from([0xe4, 0xf6, 0xfc]));
    write("project/.autocoderrules/empty.md", "---\nalwaysApply: true\n---\n");
    write("secret.txt", "password");
    symlinkSync(join(root, "secret.txt"), join(root, "project/.autocoderrules/leads-out.md"));
    symlinkSync("round.md", join(root, "project/.autocoderrules/round.md"));
    symlinkSync("nowhere", join(root, "project/.autocoderrules/dangling.md"));
    mkdirSync(join(root, "project/.autocoderrules/folder.md"));
    execFileSync("mkfifo", [join(root, "project/.autocoderrules/pipe.md")]);
    write("home/.auto-coder/autocoderrules", "a file where a folder is expected");
    const source = open();
    source.load();
    expect(texts(source)).toEqual(["good"]);
    const problems = Object.fromEntries(source.load().warnings.map(({ file, problem }) => [file, problem]));
    const file = (name: string): string => `.autocoderrules/${name}.md`;
    expect(problems).toMatchObject({
      [file("big")]: expect.stringContaining("larger than"),
      [file("binary")]: expect.stringContaining("zero byte"),
      [file("latin")]: expect.stringContaining("UTF-8"),
      [file("empty")]: expect.stringContaining("no text"),
      [file("leads-out")]: expect.stringContaining("leads out"),
      [file("round")]: expect.stringContaining("ELOOP"),
      [file("dangling")]: expect.stringContaining("ENOENT"),
      [file("folder")]: expect.stringContaining("not a regular file"),
      [file("pipe")]: expect.stringContaining("not a regular file"),
      "~/.auto-coder/autocoderrules": expect.stringContaining("ENOTDIR"),
    });
    expect(JSON.stringify(source.load())).not.toContain("password");
    const count = logged.length;
    source.load();
    expect(logged).toHaveLength(count);
    expect(logged).toEqual(expect.arrayContaining([...source.load().warnings]));
  });

  it.skipIf(process.getuid?.() === 0)("report files and folders that this user may not read", () => {
    write("project/.autocoderrules/closed.md", always("closed"));
    write("project/.autocoderrules/open.md", always("open"));
    chmodSync(join(root, "project/.autocoderrules/closed.md"), 0);
    const source = open();
    expect(texts(source)).toEqual(["open"]);
    expect(source.load().warnings).toMatchObject([{ problem: expect.stringContaining("EACCES") }]);
  });

  it("with thousands of files are read up to a bound, and that is reported", () => {
    for (let index = 0; index < 1100; index += 1) write(`project/.autocoderrules/${index}.md`, always(`${index}`));
    const { rules, warnings } = open().load();
    expect(rules).toHaveLength(1000);
    expect(warnings).toEqual([{ file: ".autocoderrules", problem: expect.stringContaining("more than 1000 entries") }]);
  });
});

describe("the rules that count", () => {
  beforeEach(() => {
    write("project/.autocoderrules/index.md", "Read python.md for Python.");
    write("project/.autocoderrules/always.md", always("Be kind."));
    write("project/.autocoderrules/python.md", forFiles("**/*.py", "Use snake_case.", "Python style"));
    write("project/.autocoderrules/plain.md", "---\ndescription: On request\n---\nAsk first.");
    write("home/.auto-coder/autocoderrules/own.md", forFiles("*.py", "Use my style."));
  });
  const applied = (files: string[]): string[] =>
    selectRules(open().load().rules, files).applied.map(({ text }) => text);

  it("are the index and those that always apply, and those whose pattern fits a file at hand", () => {
    expect(applied([])).toEqual(["Be kind.", "Read python.md for Python."]);
    expect(applied(["notes.txt"])).toHaveLength(2);
    expect(applied(["src/a.py"])).toEqual([
      "Be kind.",
      "Read python.md for Python.",
      "Use snake_case.",
      "Use my style.",
    ]);
  });

  it("are given with their files, and the others of the project by name, so that the model can read them itself", () => {
    const text = rulesText(selectRules(open().load().rules, []));
    expect(text).toContain("## Rule of the project: .autocoderrules/always.md\n\nBe kind.");
    expect(text).toContain("- .autocoderrules/python.md: Python style; for **/*.py");
    expect(text).toContain("- .autocoderrules/plain.md: On request");
    expect(text).not.toContain("own.md");
    expect(text).not.toContain("disagree");
  });

  it("of the project come before those of the user, and it is said that they count more (CTX-04)", () => {
    const text = rulesText(selectRules(open().load().rules, ["a.py"]));
    expect(text).toMatch(/the rule of the project counts[\s\S]*Use snake_case\.[\s\S]*Use my style\./u);
  });

  it("fill no more than their room; what is beyond is only listed", () => {
    for (let index = 0; index < 4; index += 1)
      write(`project/.autocoderrules/z${index}.md`, always("x".repeat(60_000)));
    const selected = selectRules(open().load().rules, []);
    expect(rulesText(selected).length).toBeLessThan(140_000);
    expect(rulesText(selected)).toContain("- .autocoderrules/z3.md");
  });
});
