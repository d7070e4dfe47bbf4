import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { aWorkspace, type Workspace } from "../../../../tests/support/a-workspace.ts";
import { readDocument } from "../../formats/file-formats.ts";
import { readParts } from "../../formats/zip-parts.ts";
import { wordText } from "../../read/word-text.ts";
import { syntaxOf, wordDocument } from "../../write/write-document.ts";
import { html, lines, makers, markdown, missingLines, pandoc, signal, without } from "./plan-document.ts";

describe("a Word document", () => {
  it.each([
    ["HTML", html],
    ["Markdown", markdown],
  ])("made from %s by the library says the same when it is read", async (_, text) => {
    const made = await wordDocument(text, signal, without);
    expect(made).toMatchObject({ madeBy: "library", left_out: [] });
    const back = await readDocument(made.file, "docx", signal);
    expect(missingLines(back.text), back.text).toEqual([]);
    expect(back.left_out).toEqual([]);
  });

  it.skipIf(pandoc === undefined).each([
    ["HTML", html],
    ["Markdown", markdown],
  ])("made from %s by pandoc says the same when it is read", async (_, text) => {
    const made = await wordDocument(text, signal);
    expect(made).toMatchObject({ madeBy: "pandoc", left_out: [] });
    const back = await wordText(made.file);
    expect(missingLines(back.text), back.text).toEqual([]);
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
      const plain = lines.filter((pattern) => !/axle|front|back/u.test(pattern.source));
      expect(missingLines(read, plain), read).toEqual([]);
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
        expect(missingLines(back.text), back.text).toEqual([]);
      }
    });
  });
});
