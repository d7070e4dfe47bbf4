import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openDocumentFiles, pack, type DocumentFiles } from "./document-files.ts";

let files: DocumentFiles;
beforeEach(async () => {
  files = await openDocumentFiles();
});
afterEach(() => files.close());

describe("read_file of other documents", () => {
  it("gives the text of an OpenDocument text", async () => {
    const content =
      '<office:text><text:h text:outline-level="2">Plan</text:h><text:p>One<text:s text:c="2"/>two &amp; three</text:p>' +
      "<text:list><text:list-item><text:p>first</text:p></text:list-item></text:list><table:table><table:table-row>" +
      "<table:table-cell><text:p>a</text:p></table:table-cell><table:table-cell><text:p>b</text:p></table:table-cell>" +
      "</table:table-row></table:table></office:text>";
    await files.put("a.odt", pack({ "content.xml": content }));
    expect((await files.read("a.odt")).content).toBe(
      "[a.odt: the text of an OpenDocument text]\n## Plan\n\nOne  two & three\n\n- first\n| a | b |\n",
    );
  });

  it("gives the slides of a presentation in their order", async () => {
    const slide = (text: string): string => `<p:sld><a:p><a:r><a:t>${text}</a:t></a:r></a:p><p:pic/></p:sld>`;
    const parts = Object.fromEntries(
      [1, 2, 10].map((number) => [`ppt/slides/slide${number}.xml`, slide(`No ${number}`)]),
    );
    await files.put("a.pptx", pack(parts));
    expect((await files.read("a.pptx")).content).toBe(
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
    await files.put(
      "a.xlsx",
      pack({
        "xl/workbook.xml": book,
        "xl/_rels/workbook.xml.rels": links,
        "xl/sharedStrings.xml": shared,
        "xl/worksheets/sheet1.xml": sheet,
      }),
    );
    expect((await files.read("a.xlsx")).content).toBe(
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
    await files.put("a.xlsx", pack(parts));
    expect((await files.read("a.xlsx")).content).toContain(
      "| 45000 | 2023-03-15 | 2026-11-22 | 2023-03-15 18:00:00 | 12:00:00 | 45000 |",
    );
    await files.put(
      "b.xlsx",
      pack({ ...parts, "xl/workbook.xml": book.replace("<sheets>", '<workbookPr date1904="1"/><sheets>') }),
    );
    expect((await files.read("b.xlsx")).content).toContain("| 45000 | 2027-03-16 |");
  });

  it("keeps notes and tables together", async () => {
    const note =
      "<text:p>One<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>The note.</text:p></text:note-body></text:note> two.</text:p>";
    await files.put("a.odt", pack({ "content.xml": note }));
    expect((await files.read("a.odt")).content).toContain("One1 [The note.] two.\n");
    const cell = (text: string): string => `<a:tc><a:txBody><a:p><a:r><a:t>${text}</a:t></a:r></a:p></a:txBody></a:tc>`;
    const table = `<a:tbl><a:tblPr><a:tableStyleId>{X}</a:tableStyleId></a:tblPr><a:tr>${cell("a")}${cell("b")}</a:tr></a:tbl>`;
    await files.put("a.pptx", pack({ "ppt/slides/slide1.xml": `${table}<a:p><a:t>End</a:t></a:p>` }));
    expect((await files.read("a.pptx")).content).toContain("## Slide 1\n\n| a | b |\nEnd\n");
  });

  it("gives the text of Rich Text, in any code page", async () => {
    const rtf =
      "{\\rtf1\\ansi\\ansicpg936{\\fonttbl{\\f0 Arial;}}{\\*\\generator x;}\\f0 Hello {\\b bold} \\'c4\\'e3\\'ba\\'c3\\par Second \\u28857?\\tab \\{x\\}}";
    await files.put("a.rtf", Buffer.from(rtf, "latin1"));
    expect((await files.read("a.rtf")).content).toBe(
      "[a.rtf: the text of a Rich Text document]\nHello bold 你好\n\nSecond 点\t{x}\n",
    );
  });
});
