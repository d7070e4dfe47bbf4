import { open, readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { projectFolder } from "../../../../tests/support/source-files.ts";
import { aPdf, aWordDocument, openDocumentFiles, paragraph, rels, word, type DocumentFiles } from "./document-files.ts";

let files: DocumentFiles;
beforeEach(async () => {
  files = await openDocumentFiles();
});
afterEach(() => files.close());

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
    await files.put(
      "a.docx",
      aWordDocument(`${table}${fraction}${paragraph("End")}<w:p><c:chart r:id="x"/></w:p>`, edge),
    );
    expect((await files.read("a.docx")).content).toBe(
      "[a.docx: the text of a Word document, without 1 chart, 1 comment, headers and footers]\n" +
        String.raw`| a\|b |  | c |` +
        "\n| --- | --- | --- |\n| 1 | 2 | 3 |\n\n$\\frac{1}{2}$\n\nEnd\n",
    );
  });

  it("gives a long one in parts", async () => {
    await files.put(
      "a.docx",
      aWordDocument(Array.from({ length: 2000 }, (_, index) => paragraph(`Line ${index + 1} of many.`)).join("")),
    );
    const first = await files.read("a.docx");
    const [, next] =
      /^\[a\.docx: lines 1-\d+ of 3999; go on with offset (\d+); the text of a Word document\]/u.exec(
        first.content ?? "",
      ) ?? [];
    const second = await files.read("a.docx", { offset: Number(next) });
    expect(second.content).toContain(`[a.docx: lines ${next}-`);
    expect((await files.read("a.docx", { offset: 3999 })).content).toContain("Line 2000 of many.");
    expect(await files.read("a.docx", { offset: 4900 })).toMatchObject({ errorType: "invalid_parameter" });
  });

  it("opens no file and no address that it names", async () => {
    await writeFile(join(files.workspace.outside, "secret.xml"), "secret");
    const xml = `<!DOCTYPE x [<!ENTITY s SYSTEM "file://${files.workspace.outside}/secret.xml">]>`;
    const file = aWordDocument(paragraph("Before &s; after"), {
      "word/_rels/document.xml.rels": `<Relationships><Relationship Id="rId9" Type="${rels}/image" TargetMode="External" Target="http://127.0.0.1:9/x.png"/></Relationships>`,
    });
    await files.put("a.docx", file);
    await files.put(
      "b.docx",
      Buffer.from(file.toString("latin1").replace("<w:document", `${xml}<w:document`), "latin1"),
    );
    expect((await files.read("a.docx")).content).not.toContain("secret");
    expect((await files.read("b.docx")).content).not.toContain("secret");
  });
});

describe("read_file of a PDF", () => {
  it("gives its text page by page, and says which pages have none", async () => {
    await files.put("a.pdf", aPdf([["Invoice 17", "Total: 120 EUR (net)"], [], ["Thank you"]]));
    expect((await files.read("a.pdf")).content).toBe(
      "[a.pdf: the text of a PDF, without 1 empty page]\n## Page 1\n\nInvoice 17\nTotal: 120 EUR (net)\n\n## Page 2\n\n\n\n" +
        "## Page 3\n\nThank you\n",
    );
  });

  it("without any text says so, and what can be done", async () => {
    await files.put("scan.pdf", aPdf([[], []]));
    const result = await files.read("scan.pdf");
    expect(result).toMatchObject({ success: false, errorType: "invalid_format" });
    expect(result.content).toContain("There is no text in its 2 pages");
    expect(result.content).toContain("OCR");
  });

  it("that unpacks to 300 MB is given up", async () => {
    const data = deflateSync(Buffer.alloc(300 * 1024 * 1024, 32));
    await files.put("bomb.pdf", aPdf([[]], { data, filter: "FlateDecode" }));
    const before = process.memoryUsage.rss();
    const result = await files.read("bomb.pdf");
    expect(result).toMatchObject({ success: false, errorType: "too_large" });
    expect(process.memoryUsage.rss() - before).toBeLessThan(500 * 1024 * 1024);
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
    await files.put("a.txt", bytes);
    const note = name === "" ? "" : `[a.txt: in ${name}; what is written back will be in UTF-8]\n`;
    expect((await files.read("a.txt")).content).toBe(`${note}1\t${text}`);
  });

  it.each([
    ["half a character", Buffer.from([0x41, 0xe6, 0x96])],
    ["a damaged one", Buffer.from([0xe6, 0x96, 0x87, 0xff, 0x41])],
    ["zeros", Buffer.from([65, 0, 66])],
    ["control characters", Buffer.from([0xe9, 0x01, 0x02])],
  ])("refuses %s", async (_, bytes) => {
    await files.put("a.txt", bytes);
    expect(await files.read("a.txt")).toMatchObject({ success: false, errorType: "invalid_format" });
  });

  it("finds out in the first bytes, and reads the rest by them", async () => {
    const handle = await open(join(files.workspace.root, "a.txt"), "w");
    await handle.writeFile(Buffer.from("\uFEFF" + "水车\n".repeat(60_000), "utf16le"));
    await handle.close();
    expect((await files.read("a.txt", { start_line: 59_999 })).content).toContain("59999\t水车\n60000\t水车\n");
  });
});

describe("the samples", () => {
  it("are read as docs/toolkits/documents.md says", async () => {
    const folder = join(projectFolder, "samples/documents");
    for (const name of await readdir(folder)) await files.put(name, await readFile(join(folder, name)));
    const texts: [string, RegExp][] = [
      ["offer.docx", /\| Oak buckets \| 24 \| 1 920 € \|[\s\S]*2\.\s+We measure the race:\n\s+-\s+its width/u],
      ["offer.docx", /with an efficiency of \$\\frac\{3\}\{4\}\$ about _10\.6 kW_/u],
      ["invoice.pdf", /## Page 1\n\nInvoice 2026-117\n[\s\S]*Total 141\.00 EUR[\s\S]*## Page 2\n\nTerms/u],
      ["minutes.txt", /^\[minutes\.txt: in GB 18030;.*\]\n1\t会议纪要\n/u],
      ["letter.md", /^1\t# To the council\n/u],
    ];
    for (const [name, text] of texts) expect((await files.read(name)).content, name).toMatch(text);
    expect(await files.read("scan.pdf")).toMatchObject({ success: false, errorType: "invalid_format" });
    expect(new Set(await readdir(folder))).toEqual(new Set([...texts.map(([name]) => name), "scan.pdf"]));
  });
});
