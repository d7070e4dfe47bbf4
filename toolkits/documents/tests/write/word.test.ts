import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { findPandoc, pandocFile } from "../../write/pandoc.ts";
import { readParts } from "../../formats/zip-parts.ts";
import { wordText } from "../../read/word-text.ts";
import { readDocument } from "../../formats/file-formats.ts";
import { syntaxOf, wordDocument } from "../../write/write-document.ts";
import { snapshot } from "../../../../src/tools/undo/snapshot.ts";
import { tools } from "../../../../src/tools/index.ts";
import { aWorkspace, type Workspace } from "../../../../tests/support/a-workspace.ts";
import { codeTools } from "../../../code/tools/index.ts";

const html = `<!doctype html><html><head><title>Plan</title></head><body>
<h1>Plan for the mill</h1>
<p>The <strong>wheel</strong> turns <em>day and night</em>; see <a href="https://example.com/race">the race</a>.</p>
<h2>Work 工作</h2>
<ol><li>Clear the race</li><li>Grease the axle<ul><li>front</li><li>back</li></ul></li></ol>
<table><tr><th>Part</th><th>Price</th></tr><tr><td>Axle</td><td>120 €</td></tr><tr><td>Belt</td><td>35 €</td></tr></table>
<p>Chinese: 水车日夜转动。</p>
</body></html>`;

const markdown = `# Plan for the mill

The **wheel** turns *day and night*; see [the race](https://example.com/race).

## Work 工作

1. Clear the race
2. Grease the axle
   - front
   - back

| Part | Price |
| --- | --- |
| Axle | 120 € |
| Belt | 35 € |

Chinese: 水车日夜转动。
`;

/** What the document says, in order, whatever made it. */
const said = [
  /^# Plan for the mill$/mu,
  /The \*\*wheel\*\* turns _day and night_; see \[the race\]\(https:\/\/example\.com\/race\)\./u,
  /^## Work 工作$/mu,
  /^1\.\s+Clear the race$/mu,
  /^2\.\s+Grease the axle$/mu,
  /^\s+- +front$/mu,
  /^\s+- +back$/mu,
  /^\| \**Part\** \| \**Price\** \|$/mu,
  /^\| --- \| --- \|$/mu,
  /^\| Axle \| 120 € \|$/mu,
  /^\| Belt \| 35 € \|$/mu,
  /^Chinese: 水车日夜转动。$/mu,
];

/** Whether all that was said is there, in this order. */
function inOrder(text: string, patterns: readonly RegExp[] = said): string[] {
  let from = 0;
  return patterns.flatMap((pattern) => {
    const found = pattern.exec(text.slice(from));
    if (found === null) return [String(pattern)];
    from += found.index + found[0].length;
    return [];
  });
}

const { signal } = new AbortController();
const pandoc = await findPandoc();
const without = async (): Promise<undefined> => undefined;
/** The programs that make documents; without pandoc there is only one, which need not be tried twice. */
const makers: [string, () => Promise<string | undefined>][] =
  pandoc === undefined
    ? [["the library", without]]
    : [
        ["the library", without],
        ["pandoc", findPandoc],
      ];

describe("a Word document", () => {
  it.each([
    ["HTML", html],
    ["Markdown", markdown],
  ])("made from %s by the library says the same when it is read", async (_, text) => {
    const made = await wordDocument(text, signal, without);
    expect(made).toMatchObject({ madeBy: "library", left_out: [] });
    const back = await readDocument(made.file, "docx", signal);
    expect(inOrder(back.text), back.text).toEqual([]);
    expect(back.left_out).toEqual([]);
  });

  it.skipIf(pandoc === undefined).each([
    ["HTML", html],
    ["Markdown", markdown],
  ])("made from %s by pandoc says the same when it is read", async (_, text) => {
    const made = await wordDocument(text, signal);
    expect(made).toMatchObject({ madeBy: "pandoc", left_out: [] });
    const back = await wordText(made.file);
    expect(inOrder(back.text), back.text).toEqual([]);
  });

  it.skipIf(pandoc === undefined)("made by pandoc has equations, which come back as they were written", async () => {
    const made = await wordDocument(String.raw`The root $x = \frac{-b}{2a}$ counts.`, signal);
    const back = await wordText(made.file);
    expect(back.text).toContain(String.raw`The root $x=\frac{-b}{2a}$ counts.`);
  });

  it.each(makers)("made by %s keeps quotations, listings, and what is raised or struck out", async (_, program) => {
    const listing = "```\nlet a = 1;\n  b < c\n```";
    const made = await wordDocument(`Say \`x\` and ~~old~~:\n\n${listing}\n\n> quoted`, signal, program);
    expect((await wordText(made.file)).text).toBe(`Say \`x\` and ~~old~~:\n\n${listing}\n\n> quoted\n`);
    const other = await wordDocument("<p>10<sup>2</sup> m</p><pre>let a;\n  b &lt; c\n</pre>", signal, program);
    const { text } = await wordText(other.file);
    expect(text).toContain("10<sup>2</sup> m");
    expect(text.replaceAll("\u00a0", " ")).toContain("let a;\n  b < c\n");
  });

  it("is taken for HTML only when it begins as HTML", () => {
    expect(["<p>a</p>", " \n<!DOCTYPE html>\n<html>", "<!-- x --><h1>A</h1>", "<table>"].map(syntaxOf)).toEqual(
      Array(4).fill("html"),
    );
    expect(["# A", "a <b>b</b>", "", "<https://example.com>", "<3 you", "x < y"].map(syntaxOf)).toEqual(
      Array(6).fill("markdown"),
    );
  });
});

describe("a Word document made by the library from HTML", () => {
  const rows = "<tr><td>a</td><td>b</td></tr>";
  const text = `<p>x</p><table>${rows}${rows}</table><table><thead><tr><th>c</th><th>d</th></tr></thead>${rows}</table>`;

  it("is in the order of the standard, with the heads of tables marked, and advertises nothing", async () => {
    const { file } = await wordDocument(text, signal, without);
    const parts = readParts(file, () => true);
    expect([...parts.keys()].slice(0, 2)).toEqual(["[Content_Types].xml", "_rels/.rels"]);
    const main = parts.get("word/document.xml")?.toString() ?? "";
    expect(main).toMatch(/<\/w:sectPr>\s*<\/w:body>/u);
    expect(main.match(/<w:sectPr>/gu)).toHaveLength(1);
    const [, plain = "", headed = ""] = main.split("<w:tbl>");
    expect(plain).not.toContain("tblHeader");
    expect(headed.indexOf("tblHeader")).toBeLessThan(headed.indexOf(">c<"));
    expect(headed.match(/tblHeader/gu)).toHaveLength(1);
    expect(main).toContain("w:tblBorders");
    expect(parts.get("docProps/core.xml")?.toString()).not.toContain("Powered");
  });
});

describe("a converter that fails", () => {
  let workspace: Workspace;
  beforeEach(async () => {
    workspace = await aWorkspace();
    await mkdir(join(workspace.outside, "tmp"));
    vi.stubEnv("TMPDIR", join(workspace.outside, "tmp"));
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    await workspace[Symbol.asyncDispose]();
  });

  it.each([
    ["ends with an error", "exit 3"],
    ["writes something else", "echo broken > made.docx"],
    ["writes nothing", "true"],
    ["cannot be started", undefined],
  ])("because it %s is replaced by the library", async (_, lines) => {
    const program = join(workspace.outside, "pandoc");
    if (lines !== undefined) {
      await writeFile(program, `#!/bin/sh\n${lines}\n`);
      await chmod(program, 0o755);
    }
    const before = await leftBehind();
    const made = await wordDocument(markdown, signal, async () => program);
    expect(made.madeBy).toBe("library");
    expect(await leftBehind()).toEqual(before);
  });

  it("gets nothing of the environment, no shell, and a folder of its own", async () => {
    const program = join(workspace.outside, "pandoc");
    const seen = join(workspace.outside, "seen");
    await writeFile(
      program,
      `#!/bin/sh\nenv > '${seen}'\npwd >> '${seen}'\nprintf '%s\\n' "$@" >> '${seen}'\nexit 1\n`,
    );
    await chmod(program, 0o755);
    vi.stubEnv("MILLRACE_TEST_SECRET", "secret");
    await wordDocument("a; $(touch x) `touch y`", signal, async () => program);
    const output = await readFile(seen, "utf8");
    expect(output).not.toContain("secret");
    expect(output).toContain("--sandbox");
    expect(output).toMatch(/millrace-document-\w+$/mu);
    expect(existsSync(workspace.root)).toBe(true);
  });

  it("is given up, and ended with all it has started, when it takes too long", async () => {
    const program = join(workspace.outside, "pandoc");
    const child = join(workspace.outside, "child");
    await writeFile(program, `#!/bin/sh\nsleep 600 &\necho $! > '${child}'\nwait\n`);
    await chmod(program, 0o755);
    expect(await pandocFile(program, markdown, "markdown", signal, 1500)).toBeUndefined();
    expect(await leftBehind()).toEqual([]);
    // One that has ended may still be in the list of processes, as a zombie.
    const id = (await readFile(child, "utf8")).trim();
    expect(await readFile(`/proc/${id}/stat`, "utf8").catch(() => "gone")).toMatch(/^(?:gone$|\d+ \(\w+\) Z )/u);
  });

  it("is ended when the run is stopped", async () => {
    const program = join(workspace.outside, "pandoc");
    const begun = join(workspace.outside, "begun");
    await writeFile(program, `#!/bin/sh\necho > '${begun}'\nsleep 600\n`);
    await chmod(program, 0o755);
    const stop = new AbortController();
    const before = await leftBehind();
    const making = wordDocument(markdown, stop.signal, async () => program);
    while (!existsSync(begun)) await new Promise((resolve) => setImmediate(resolve));
    stop.abort(new Error("stopped"));
    await expect(making).rejects.toThrow("stopped");
    expect(await leftBehind()).toEqual(before);
  });

  const leftBehind = async (): Promise<string[]> =>
    (await readdir(join(workspace.outside, "tmp"))).filter((name) => name.startsWith("millrace-"));
});

describe("create_file and update_file of a Word document", () => {
  let workspace: Workspace;
  beforeEach(async () => {
    workspace = await aWorkspace();
  });
  afterEach(async () => await workspace[Symbol.asyncDispose]());
  const read = async (path: string): Promise<string> => (await workspace.call(tools.read_file, { path })).content ?? "";

  it("write it from HTML and Markdown, and read_file gives its text", async () => {
    const made = await workspace.call(tools.create_file, { path: "plans/mill.docx", content: html });
    expect(made.message).toMatch(/^Created plans\/mill\.docx \(\d+ bytes\), a Word document made from HTML\.$/u);
    const text = await read("plans/mill.docx");
    expect(text).toMatch(/^\[plans\/mill\.docx: the text of a Word document\]\n/u);
    expect(inOrder(text), text).toEqual([]);
    const changed = await workspace.call(tools.update_file, { path: "plans/mill.docx", content: "# Other\n\nText." });
    expect(changed.message).toMatch(/^Updated plans\/mill\.docx \(\d+ bytes\), a Word document made from Markdown\.$/u);
    expect(await read("plans/mill.docx")).toContain("# Other\n\nText.");
    expect(await readdir(join(workspace.root, "plans"))).toEqual(["mill.docx"]);
  });

  it("write_to_file does so too", async () => {
    const made = await workspace.call(codeTools.write_to_file, { path: "a.docx", content: "# A" });
    expect(made.message).toContain("a Word document made from Markdown");
    expect(await read("a.docx")).toContain("# A");
  });

  it("fetches no picture from anywhere, and says that it is left out", async () => {
    await writeFile(join(workspace.outside, "secret.png"), "secret");
    const content =
      '<p>Look: <img alt="a wheel" src="http://127.0.0.1:9/wheel.png"><img src="/etc/passwd"></p>' +
      '<iframe src="file:///etc/passwd"></iframe><p>End.</p>';
    const made = await workspace.call(tools.create_file, { path: "a.docx", content });
    expect(made.message).toContain("made from HTML, without 2 pictures.");
    const text = await read("a.docx");
    expect(text).toContain("Look: [a wheel]");
    expect(text).toContain("End.");
    expect(text).not.toContain("root:");
    const second = await workspace.call(tools.create_file, {
      path: "b.docx",
      content: `# B\n\n![the race](${join(workspace.outside, "secret.png")})\n\n\`![code](stays)\``,
    });
    expect(second.message).toContain(", without 1 picture.");
    const other = await read("b.docx");
    expect(other).toContain("[the race]");
    expect(other).toContain("![code](stays)");
  });

  it.each(["a.pdf", "a.xlsx", "b/a.PPTX", "a.odt", "a.doc", "a.docm", "a.epub"])("makes no broken %s", async (path) => {
    const result = await workspace.call(tools.create_file, { path, content: "text" });
    expect(result).toMatchObject({ success: false, errorType: "invalid_parameter" });
    expect(result.content).toContain("Write a Word document (.docx)");
    expect(await readdir(workspace.root)).toEqual([]);
  });

  it("is not broken by other tools that write", async () => {
    await workspace.call(tools.create_file, { path: "b.docx", content: "# B" });
    const before = await readFile(join(workspace.root, "b.docx"));
    const diff = "<<<<<<< SEARCH\nPK\n=======\nKP\n>>>>>>> REPLACE";
    expect(await workspace.call(codeTools.replace_in_file, { path: "b.docx", diff })).toMatchObject({ success: false });
    expect((await readFile(join(workspace.root, "b.docx"))).equals(before)).toBe(true);
  });

  it("is known again after a crash by what it says, and another is not touched", async () => {
    await workspace.call(tools.create_file, { path: "a.docx", content: html });
    const first = await readFile(join(workspace.root, "a.docx"));
    const again = await workspace.call(tools.create_file, { path: "a.docx", content: html }, true);
    expect(again).toMatchObject({ success: true });
    const other = await workspace.call(tools.create_file, { path: "a.docx", content: "# Other" }, true);
    expect(other).toMatchObject({ success: false, errorType: "conflict" });
    expect((await readFile(join(workspace.root, "a.docx"))).equals(first)).toBe(true);
  });

  it.each<[string, string | undefined, "create_file" | "update_file", string]>([
    ["was made", html, "create_file", "done"],
    ["was not begun", undefined, "create_file", "not_done"],
    ["has been made by another program", "# Other", "create_file", "unknown"],
    ["was made anew", html, "update_file", "done"],
    ["is still as it was", undefined, "update_file", "not_done"],
    ["has been changed by another program", "# Other", "update_file", "unknown"],
  ])("is looked for after a crash: it %s", async (_, now, name, kind) => {
    const isNew = name === "create_file";
    if (!isNew) await workspace.call(tools.create_file, { path: "a.docx", content: "# Before" });
    const { state: before } = await snapshot(workspace.context, "a.docx", "keep");
    const tool = isNew && now !== undefined ? tools.create_file : tools.update_file;
    if (now !== undefined) await workspace.call(tool, { path: "a.docx", content: now });
    const begun = { kind: "write" as const, path: "a.docx", before, after: null, made: [] };
    const found = await tools[name].reconcile?.({ path: "a.docx", content: html }, { ...workspace.context, begun });
    expect(found?.kind).toBe(kind);
  });

  it("that would be too long is not made", async () => {
    const result = await workspace.call(tools.create_file, { path: "a.docx", content: "a".repeat(2_000_001) });
    expect(result).toMatchObject({ success: false, errorType: "too_large" });
    expect(result.content).toContain("Make several documents of it.");
    expect(await readdir(workspace.root)).toEqual([]);
  });

  it("that was stopped leaves nothing", async () => {
    const stop = new AbortController();
    stop.abort(new Error("stopped"));
    const context = { ...workspace.context, signal: stop.signal };
    await expect(tools.create_file.run({ path: "x/a.docx", content: html }, context)).rejects.toThrow("stopped");
    expect(await readdir(workspace.root)).toEqual([]);
  });
});

describe("a text that tricks its way to files", () => {
  it.each([
    '<p a=b"c><img src=/etc/passwd alt=x>text</p><p title="d">e</p>',
    "<p>text</p><img/src=/etc/passwd>",
    '<p>text</p><input type="image" src="/etc/passwd">',
    "<p>text</p><table background=/etc/passwd><tr><td>x</td></tr></table>",
    "<p>text</p><picture><source srcset=/etc/passwd><img srcset=/etc/passwd></picture>",
  ])("gets none of them: %s", async (content) => {
    for (const [, program] of makers) {
      const made = await wordDocument(content, signal, program);
      const parts = readParts(made.file, () => true);
      expect([...parts.keys()].filter((name) => name.startsWith("word/media/"))).toEqual([]);
      expect([...parts.values()].some((part) => part.includes("root:"))).toBe(false);
      expect((await wordText(made.file)).text).toContain("text");
    }
  });
});

describe("a picture inside of the text", () => {
  const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  const content = `<p>A dot: <img alt="dot" src="data:image/png;base64,${dot}" width="1" height="1"></p>`;

  it.each(makers)("is kept by %s, and listed as left out when the text is read", async (_, program) => {
    const made = await wordDocument(content, signal, program);
    expect(made.left_out).toEqual([]);
    const names: string[] = [];
    readParts(made.file, (name) => names.push(name) < 0);
    expect(names.filter((name) => /^word\/media\/.+\.png$/u.test(name))).toHaveLength(1);
    expect(await wordText(made.file)).toMatchObject({ left_out: ["1 picture"] });
  });
});

describe("what others read of a Word document made here", () => {
  let workspace: Workspace;
  beforeEach(async () => {
    workspace = await aWorkspace();
  });
  afterEach(async () => await workspace[Symbol.asyncDispose]());
  const office = ["/usr/bin/soffice", "/usr/bin/libreoffice", "/usr/local/bin/soffice"].find(existsSync);
  const run = promisify(execFile);
  const sources: [string, string][] = [
    ["HTML", html],
    ["Markdown", markdown],
  ];

  // The same text and structure, by a reader that shares no code with ours.
  it.skipIf(pandoc === undefined).each(sources)(
    "is the same to pandoc, made from %s by the library",
    async (_, text) => {
      const file = join(workspace.root, "a.docx");
      await writeFile(file, (await wordDocument(text, signal, without)).file);
      const { stdout } = await run(pandoc ?? "", ["--sandbox", "--from=docx", "--to=gfm", "--wrap=none", file]);
      const read = stdout
        .replaceAll(/^\|[-:| ]+\|$/gmu, "| --- | --- |")
        .replaceAll(/ {2,}/gu, " ")
        .replaceAll("*day and night*", "_day and night_");
      const plain = said.filter((pattern) => !/axle|front|back/u.test(pattern.source));
      expect(inOrder(read, plain), read).toEqual([]);
      expect(read).toMatch(/^ *2\. +Grease the axle\n+ *- +front\n+ *- +back$/mu);
    },
  );

  it("gives no paragraph two styles, of which each reader takes another", async () => {
    const { file } = await wordDocument(markdown, signal, without);
    const xml =
      readParts(file, (name) => name === "word/document.xml")
        .get("word/document.xml")
        ?.toString("utf8") ?? "";
    expect(xml).toContain('<w:pStyle w:val="Heading1"/>');
    expect(xml).not.toMatch(/<w:pStyle [^>]*\/><w:pStyle /u);
  });

  describe.skipIf(office === undefined)("opens in LibreOffice and comes back the same", () => {
    let shared: Workspace;
    const names = (source: string): string[] => makers.map(([maker]) => `${source} by ${maker}.docx`);
    beforeAll(async () => {
      shared = await aWorkspace();
      for (const [source, text] of sources) {
        for (const [at, [, program]] of makers.entries()) {
          const { file } = await wordDocument(text, signal, program);
          await writeFile(join(shared.root, names(source)[at] ?? ""), file);
        }
      }
      // All at once: most of a conversion is the start of LibreOffice.
      const home = `-env:UserInstallation=file://${shared.outside}/office`;
      const files = sources.flatMap(([source]) => names(source)).map((name) => join(shared.root, name));
      await run(office ?? "", [home, "--headless", "--convert-to", "docx", "--outdir", shared.outside, ...files]);
    }, 120_000);
    afterAll(async () => await shared[Symbol.asyncDispose]());

    it.each(sources)("made from %s", async (source) => {
      for (const name of names(source)) {
        const back = await wordText(await readFile(join(shared.outside, name)));
        expect(inOrder(back.text), back.text).toEqual([]);
      }
    });
  });
});
