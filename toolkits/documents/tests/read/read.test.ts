import { open, readFile, readdir, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { deflateSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { inThread } from "../../formats/document-thread.ts";
import { packParts } from "../../formats/zip-parts.ts";
import { tools } from "../../../../src/tools/index.ts";
import { projectFolder } from "../../../../tests/support/source-files.ts";
import { aWorkspace, type Workspace } from "../../../../tests/support/a-workspace.ts";
import { aPdf } from "./a-pdf.ts";
import type { ToolResult } from "../../../../src/tools/runtime/result.ts";

let workspace: Workspace;
beforeEach(async () => {
  workspace = await aWorkspace();
});
afterEach(async () => await workspace[Symbol.asyncDispose]());

const put = async (path: string, bytes: Uint8Array): Promise<void> => writeFile(join(workspace.root, path), bytes);
const read = async (path: string, more: object = {}): Promise<ToolResult> =>
  await workspace.call(tools.read_file, { path, ...more });
const pack = (parts: Record<string, string>): Buffer =>
  packParts(new Map(Object.entries(parts).map(([name, text]) => [name, Buffer.from(text)])));

const rels = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const word = "http://schemas.openxmlformats.org/wordprocessingml/2006/main";
/** The parts of a Word document with this body. */
function aWordDocument(body: string, more: Record<string, string> = {}): Buffer {
  return pack({
    "[Content_Types].xml":
      '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="xml" ' +
      'ContentType="application/xml"/><Default Extension="rels" ' +
      'ContentType="application/vnd.openxmlformats-package.relationships+xml"/></Types>',
    "_rels/.rels":
      '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" ' +
      `Type="${rels}/officeDocument" Target="word/document.xml"/></Relationships>`,
    "word/document.xml": `<w:document xmlns:w="${word}" xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" xmlns:c="c" xmlns:r="r"><w:body>${body}</w:body></w:document>`,
    ...more,
  });
}
const paragraph = (text: string): string => `<w:p><w:r><w:t>${text}</w:t></w:r></w:p>`;

describe("read_file of a Word document", () => {
  it("gives tables with merged cells, equations, and says what is not in the text", async () => {
    const cell = (text: string, span = 1): string =>
      `<w:tc><w:tcPr><w:gridSpan w:val="${span}"/></w:tcPr>${paragraph(text)}</w:tc>`;
    const table = `<w:tbl><w:tr>${cell("a|b", 2)}${cell("c")}</w:tr><w:tr>${cell("1")}${cell("2")}${cell("3")}</w:tr></w:tbl>`;
    const fraction =
      "<w:p><m:oMath><m:f><m:num><m:r><m:t>1</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f></m:oMath></w:p>";
    const edge = {
      "word/header1.xml": `<w:hdr xmlns:w="${word}">${paragraph("Secret")}</w:hdr>`,
      "word/comments.xml": `<w:comments xmlns:w="${word}"><w:comment w:id="1"/></w:comments>`,
    };
    await put("a.docx", aWordDocument(`${table}${fraction}${paragraph("End")}<w:p><c:chart r:id="x"/></w:p>`, edge));
    expect((await read("a.docx")).content).toBe(
      "[a.docx: the text of a Word document, without 1 chart, 1 comment, headers and footers]\n" +
        String.raw`| a\|b |  | c |` +
        "\n| --- | --- | --- |\n| 1 | 2 | 3 |\n\n$\\frac{1}{2}$\n\nEnd\n",
    );
  });

  it("gives a long one in parts", async () => {
    await put(
      "a.docx",
      aWordDocument(Array.from({ length: 2000 }, (_, index) => paragraph(`Line ${index + 1} of many.`)).join("")),
    );
    const first = await read("a.docx");
    const [, next] =
      /^\[a\.docx: lines 1-\d+ of 3999; go on with offset (\d+); the text of a Word document\]/u.exec(
        first.content ?? "",
      ) ?? [];
    const second = await read("a.docx", { offset: Number(next) });
    expect(second.content).toContain(`[a.docx: lines ${next}-`);
    expect((await read("a.docx", { offset: 3999 })).content).toContain("Line 2000 of many.");
    expect(await read("a.docx", { offset: 4900 })).toMatchObject({ errorType: "invalid_parameter" });
  });

  it("opens no file and no address that it names", async () => {
    await writeFile(join(workspace.outside, "secret.xml"), "secret");
    const xml = `<!DOCTYPE x [<!ENTITY s SYSTEM "file://${workspace.outside}/secret.xml">]>`;
    const file = aWordDocument(paragraph("Before &s; after"), {
      "word/_rels/document.xml.rels": `<Relationships><Relationship Id="rId9" Type="${rels}/image" TargetMode="External" Target="http://127.0.0.1:9/x.png"/></Relationships>`,
    });
    await put("a.docx", file);
    await put("b.docx", Buffer.from(file.toString("latin1").replace("<w:document", `${xml}<w:document`), "latin1"));
    expect((await read("a.docx")).content).not.toContain("secret");
    expect((await read("b.docx")).content).not.toContain("secret");
  });
});

describe("read_file of a PDF", () => {
  it("gives its text page by page, and says which pages have none", async () => {
    await put("a.pdf", aPdf([["Invoice 17", "Total: 120 EUR (net)"], [], ["Thank you"]]));
    expect((await read("a.pdf")).content).toBe(
      "[a.pdf: the text of a PDF, without 1 empty page]\n## Page 1\n\nInvoice 17\nTotal: 120 EUR (net)\n\n## Page 2\n\n\n\n" +
        "## Page 3\n\nThank you\n",
    );
  });

  it("without any text says so, and what can be done", async () => {
    await put("scan.pdf", aPdf([[], []]));
    const result = await read("scan.pdf");
    expect(result).toMatchObject({ success: false, errorType: "invalid_format" });
    expect(result.content).toContain("There is no text in its 2 pages");
    expect(result.content).toContain("OCR");
  });

  it("that unpacks to 300 MB is given up", async () => {
    const data = deflateSync(Buffer.alloc(300 * 1024 * 1024, 32));
    await put("bomb.pdf", aPdf([[]], { data, filter: "FlateDecode" }));
    const before = process.memoryUsage.rss();
    const result = await read("bomb.pdf");
    expect(result).toMatchObject({ success: false, errorType: "too_large" });
    expect(process.memoryUsage.rss() - before).toBeLessThan(500 * 1024 * 1024);
  });
});

describe("read_file of other documents", () => {
  it("gives the text of an OpenDocument text", async () => {
    const content =
      '<office:text><text:h text:outline-level="2">Plan</text:h><text:p>One<text:s text:c="2"/>two &amp; three</text:p>' +
      "<text:list><text:list-item><text:p>first</text:p></text:list-item></text:list><table:table><table:table-row>" +
      "<table:table-cell><text:p>a</text:p></table:table-cell><table:table-cell><text:p>b</text:p></table:table-cell>" +
      "</table:table-row></table:table></office:text>";
    await put("a.odt", pack({ "content.xml": content }));
    expect((await read("a.odt")).content).toBe(
      "[a.odt: the text of an OpenDocument text]\n## Plan\n\nOne  two & three\n\n- first\n| a | b |\n",
    );
  });

  it("gives the slides of a presentation in their order", async () => {
    const slide = (text: string): string => `<p:sld><a:p><a:r><a:t>${text}</a:t></a:r></a:p><p:pic/></p:sld>`;
    const parts = Object.fromEntries(
      [1, 2, 10].map((number) => [`ppt/slides/slide${number}.xml`, slide(`No ${number}`)]),
    );
    await put("a.pptx", pack(parts));
    expect((await read("a.pptx")).content).toBe(
      "[a.pptx: the text of a presentation, without 3 pictures]\n## Slide 1\n\nNo 1\n\n## Slide 2\n\nNo 2\n\n## Slide 3\n\nNo 10\n",
    );
  });

  it("gives the cells of a workbook, formulas by their values", async () => {
    const sheet =
      '<worksheet><sheetData><row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1" t="inlineStr"><is><t>x|y</t></is></c></row>' +
      '<row r="2"><c r="A2"><f>1+1</f><v>2</v></c><c r="B2" t="b"><v>1</v></c></row></sheetData></worksheet>';
    const book = '<workbook><sheets><sheet name="Prices" sheetId="1" r:id="rId7"/></sheets></workbook>';
    const links = '<Relationships><Relationship Id="rId7" Target="worksheets/sheet1.xml"/></Relationships>';
    const shared = "<sst><si><t>Part</t><r><t> one</t></r></si></sst>";
    await put(
      "a.xlsx",
      pack({
        "xl/workbook.xml": book,
        "xl/_rels/workbook.xml.rels": links,
        "xl/sharedStrings.xml": shared,
        "xl/worksheets/sheet1.xml": sheet,
      }),
    );
    expect((await read("a.xlsx")).content).toBe(
      String.raw`[a.xlsx: the text of a workbook]
## Prices

| Part one |  | x\|y |
| 2 | 1 |
`,
    );
  });

  it("gives dates of a workbook as dates", async () => {
    const styles =
      '<styleSheet><numFmts><numFmt numFmtId="170" formatCode="dd\\.mm\\.yyyy"/><numFmt numFmtId="171" formatCode="0.0&quot; days&quot;"/>' +
      '</numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="170"/>' +
      '<xf numFmtId="22"/><xf numFmtId="171"/></cellXfs></styleSheet>';
    const cells = [
      ["0", "45000"],
      ["1", "45000"],
      ["2", "46348"],
      ["3", "45000.75"],
      ["3", "0.5"],
      ["4", "45000"],
    ];
    const row = cells.map(([style, value]) => `<c s="${style}"><v>${value}</v></c>`).join("");
    const book = '<workbook><sheets><sheet name="A" r:id="r1"/></sheets></workbook>';
    const parts = {
      "xl/workbook.xml": book,
      "xl/_rels/workbook.xml.rels":
        '<Relationships><Relationship Id="r1" Target="/xl/worksheets/sheet1.xml"/></Relationships>',
      "xl/worksheets/sheet1.xml": `<worksheet><row>${row}</row></worksheet>`,
      "xl/styles.xml": styles,
    };
    await put("a.xlsx", pack(parts));
    expect((await read("a.xlsx")).content).toContain(
      "| 45000 | 2023-03-15 | 2026-11-22 | 2023-03-15 18:00:00 | 12:00:00 | 45000 |",
    );
    await put(
      "b.xlsx",
      pack({ ...parts, "xl/workbook.xml": book.replace("<sheets>", '<workbookPr date1904="1"/><sheets>') }),
    );
    expect((await read("b.xlsx")).content).toContain("| 45000 | 2027-03-16 |");
  });

  it("keeps notes and tables together", async () => {
    const note =
      "<text:p>One<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>The note.</text:p></text:note-body></text:note> two.</text:p>";
    await put("a.odt", pack({ "content.xml": note }));
    expect((await read("a.odt")).content).toContain("One1 [The note.] two.\n");
    const cell = (text: string): string => `<a:tc><a:txBody><a:p><a:r><a:t>${text}</a:t></a:r></a:p></a:txBody></a:tc>`;
    const table = `<a:tbl><a:tblPr><a:tableStyleId>{X}</a:tableStyleId></a:tblPr><a:tr>${cell("a")}${cell("b")}</a:tr></a:tbl>`;
    await put("a.pptx", pack({ "ppt/slides/slide1.xml": `${table}<a:p><a:t>End</a:t></a:p>` }));
    expect((await read("a.pptx")).content).toContain("## Slide 1\n\n| a | b |\nEnd\n");
  });

  it("gives the text of Rich Text, in any code page", async () => {
    const rtf =
      "{\\rtf1\\ansi\\ansicpg936{\\fonttbl{\\f0 Arial;}}{\\*\\generator x;}\\f0 Hello {\\b bold} \\'c4\\'e3\\'ba\\'c3\\par Second \\u28857?\\tab \\{x\\}}";
    await put("a.rtf", Buffer.from(rtf, "latin1"));
    expect((await read("a.rtf")).content).toBe(
      "[a.rtf: the text of a Rich Text document]\nHello bold 你好\n\nSecond 点\t{x}\n",
    );
  });
});

describe("read_file of what is no such document", () => {
  it.each([
    [
      "text under the name of a Word document",
      "a.docx",
      Buffer.from("# Plan\n"),
      "invalid_format",
      /is not a Word document: it is plain text\. .*\.txt/u,
    ],
    ["an empty file", "a.docx", Buffer.alloc(0), "invalid_format", /it is empty/u],
    ["a PDF under another name", "a.docx", Buffer.from("%PDF-1.4\n"), "invalid_format", /it is a PDF/u],
    [
      "a protected one",
      "a.docx",
      Buffer.from([0xd0, 0xcf, 0x11, 0xe0, 0, 0]),
      "invalid_format",
      /protected with a password/u,
    ],
    [
      "a workbook as a Word document",
      "a.docx",
      pack({ "xl/workbook.xml": "<workbook/>" }),
      "invalid_format",
      /not a Word document/u,
    ],
    ["a Word document as a workbook", "a.xlsx", aWordDocument(paragraph("a")), "invalid_format", /not a workbook/u],
    ["half of one", "a.docx", aWordDocument(paragraph("a")).subarray(0, 600), "invalid_format", /damaged or cut off/u],
    ["parts that do not fit", "a.docx", pack({ "word/document.xml": "<" }), "invalid_format", /parts do not fit/u],
    [
      "text under the name of a PDF",
      "a.pdf",
      Buffer.from("Hello\n"),
      "invalid_format",
      /is not a PDF: it is plain text/u,
    ],
    ["the beginning of a PDF", "a.pdf", Buffer.from("%PDF-1.7\n%%EOF\n"), "invalid_format", /cannot be read as a PDF/u],
    [
      "a document of an older program",
      "a.doc",
      Buffer.from([0xd0, 0xcf, 0x11, 0xe0]),
      "invalid_format",
      /older program.*\.docx/u,
    ],
    ["binary under the name of Rich Text", "a.rtf", Buffer.from([1, 0, 2]), "invalid_format", /some binary file/u],
  ])("says so: %s", async (_, path, bytes, errorType, message) => {
    await put(path, bytes);
    const result = await read(path);
    expect(result).toMatchObject({ success: false, errorType });
    expect(result.content).toMatch(message);
    expect(result.content).not.toContain(workspace.root);
    expect(await readdir(workspace.root)).toEqual([path]);
  });

  it("refuses a file of 200 MB without reading it", async () => {
    for (const path of ["a.docx", "a.pdf"]) {
      await put(path, Buffer.from("PK"));
      await truncate(join(workspace.root, path), 200 * 1024 * 1024);
      const result = await read(path);
      expect(result).toMatchObject({ success: false, errorType: "too_large" });
      expect(result.content).toContain("has 200 MB; the text of a document is read up to 50 MB.");
    }
  });

  it("refuses a Word document that unpacks to 200 MB", async () => {
    const parts = new Map([["word/document.xml", Buffer.alloc(200 * 1024 * 1024)]]);
    await put("bomb.docx", packParts(parts, { isPacked: true }));
    const result = await read("bomb.docx");
    expect(result).toMatchObject({ success: false, errorType: "too_large" });
    expect(result.content).toContain('"bomb.docx" cannot be read. It unpacks to more than 64 MB');
  });

  it("gives up a Word document that is nested without end", async () => {
    const depth = 200_000;
    await put("a.docx", aWordDocument("<w:p>".repeat(depth) + "</w:p>".repeat(depth)));
    expect((await read("a.docx")).success).toBe(false);
  });

  it("lets other work go on while a long one is read", async () => {
    await put("a.docx", aWordDocument(Array.from({ length: 8000 }, () => paragraph("Some words of a line.")).join("")));
    const delays = monitorEventLoopDelay({ resolution: 5 });
    let turns = 0;
    let isOver = false;
    const count = (): void => {
      turns += 1;
      if (!isOver) setImmediate(count);
    };
    delays.enable();
    count();
    const result = await read("a.docx", { start_line: 15_000 });
    isOver = true;
    delays.disable();
    expect(result.content).toContain("lines 15000-");
    // A thread of its own leaves thousands of turns to the others; in this one it would be a handful.
    expect(turns).toBeGreaterThan(200);
  });

  it("ends the thread with the call, and says when it took too long", async () => {
    const file = new Uint8Array(aWordDocument(paragraph("Some words.")));
    const stop = new AbortController();
    const reading = inThread({ kind: "read", format: "docx", file }, stop.signal);
    stop.abort(new Error("stopped"));
    await expect(reading).rejects.toThrow("stopped");
    const { signal } = new AbortController();
    await expect(inThread({ kind: "read", format: "docx", file }, signal, 1)).rejects.toMatchObject({
      code: "timeout",
    });
    const many = Array.from({ length: 5 }, async () => inThread({ kind: "read", format: "docx", file }, signal));
    expect((await Promise.all(many)).map(({ kind }) => kind)).toEqual(Array(5).fill("text"));
  });
});

describe("read_file of text in other encodings", () => {
  it.each([
    ["UTF-8 with a mark", Buffer.from("\uFEFFhello\n"), "hello\n", ""],
    ["UTF-16", Buffer.from("\uFEFFhello 水车\n", "utf16le"), "hello 水车\n", "UTF-16"],
    ["UTF-16, the other way round", Buffer.from("\uFEFFhello\n", "utf16le").swap16(), "hello\n", "UTF-16"],
    ["GB 18030", Buffer.from([0xcb, 0xae, 0xb3, 0xb5, 0xd7, 0xaa, 0xb6, 0xaf, 0x0a]), "水车转动\n", "GB 18030"],
    ["Windows-1252", Buffer.from([0x63, 0x61, 0x66, 0xe9, 0x20, 0x80, 0x0a]), "café €\n", "Windows-1252"],
  ])("gives %s as it is", async (_, bytes, text, name) => {
    await put("a.txt", bytes);
    const note = name === "" ? "" : `[a.txt: in ${name}; what is written back will be in UTF-8]\n`;
    expect((await read("a.txt")).content).toBe(`${note}1\t${text}`);
  });

  it.each([
    ["half a character", Buffer.from([0x41, 0xe6, 0x96])],
    ["a damaged one", Buffer.from([0xe6, 0x96, 0x87, 0xff, 0x41])],
    ["zeros", Buffer.from([65, 0, 66])],
    ["control characters", Buffer.from([0xe9, 0x01, 0x02])],
  ])("refuses %s", async (_, bytes) => {
    await put("a.txt", bytes);
    expect(await read("a.txt")).toMatchObject({ success: false, errorType: "invalid_format" });
  });

  it("finds out in the first bytes, and reads the rest by them", async () => {
    const handle = await open(join(workspace.root, "a.txt"), "w");
    await handle.writeFile(Buffer.from("\uFEFF" + "水车\n".repeat(60_000), "utf16le"));
    await handle.close();
    expect((await read("a.txt", { start_line: 59_999 })).content).toContain("59999\t水车\n60000\t水车\n");
  });
});

describe("the samples", () => {
  it("are read as docs/toolkits/documents.md says", async () => {
    const folder = join(projectFolder, "samples/documents");
    for (const name of await readdir(folder)) await put(name, await readFile(join(folder, name)));
    const texts: [string, RegExp][] = [
      ["offer.docx", /\| Oak buckets \| 24 \| 1 920 € \|[\s\S]*2\.\s+We measure the race:\n\s+-\s+its width/u],
      ["offer.docx", /with an efficiency of \$\\frac\{3\}\{4\}\$ about _10\.6 kW_/u],
      ["invoice.pdf", /## Page 1\n\nInvoice 2026-117\n[\s\S]*Total 141\.00 EUR[\s\S]*## Page 2\n\nTerms/u],
      ["minutes.txt", /^\[minutes\.txt: in GB 18030;.*\]\n1\t会议纪要\n/u],
      ["letter.md", /^1\t# To the council\n/u],
    ];
    for (const [name, text] of texts) expect((await read(name)).content, name).toMatch(text);
    expect(await read("scan.pdf")).toMatchObject({ success: false, errorType: "invalid_format" });
    expect(new Set(await readdir(folder))).toEqual(new Set([...texts.map(([name]) => name), "scan.pdf"]));
  });
});
