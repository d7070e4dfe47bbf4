import { packParts } from "../../formats/zip-parts.ts";

const office = "http://schemas.openxmlformats.org/officeDocument/2006";
const word = "http://schemas.openxmlformats.org/wordprocessingml/2006/main";
const head = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const namespaces =
  `xmlns:w="${word}" xmlns:r="${office}/relationships" xmlns:m="${office}/math" ` +
  'xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" ' +
  'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" ' +
  'xmlns:pic="http://schemas.openxmlformats.org/drawingml/2006/picture"';

/** A run of text; `look` are its properties. */
export const r = (text: string, look = ""): string =>
  `<w:r>${look === "" ? "" : `<w:rPr>${look}</w:rPr>`}<w:t xml:space="preserve">${text}</w:t></w:r>`;
/** A paragraph; `properties` are those of it, such as its style. */
export const p = (content: string, properties = ""): string =>
  `<w:p>${properties === "" ? "" : `<w:pPr>${properties}</w:pPr>`}${content}</w:p>`;
export const style = (name: string): string => `<w:pStyle w:val="${name}"/>`;
/** A cell of a table, and a row of them. */
export const cell = (content: string, properties = ""): string =>
  `<w:tc><w:tcPr><w:tcW w:w="2400" w:type="dxa"/>${properties}</w:tcPr>${content}</w:tc>`;
export const row = (cells: readonly string[], properties = ""): string =>
  `<w:tr>${properties === "" ? "" : `<w:trPr>${properties}</w:trPr>`}${cells.join("")}</w:tr>`;
export const table = (columns: number, rows: readonly string[]): string =>
  '<w:tbl><w:tblPr><w:tblStyle w:val="TableGrid"/><w:tblW w:w="0" w:type="auto"/></w:tblPr>' +
  `<w:tblGrid>${'<w:gridCol w:w="2400"/>'.repeat(columns)}</w:tblGrid>${rows.join("")}</w:tbl>`;

const picture =
  '<w:r><w:drawing><wp:inline><wp:extent cx="360000" cy="360000"/><wp:docPr id="1" name="Mill"/><a:graphic>' +
  '<a:graphicData uri="http://schemas.openxmlformats.org/drawingml/2006/picture"><pic:pic><pic:nvPicPr>' +
  '<pic:cNvPr id="1" name="mill.png"/><pic:cNvPicPr/></pic:nvPicPr><pic:blipFill><a:blip r:embed="rId4"/><a:stretch>' +
  '<a:fillRect/></a:stretch></pic:blipFill><pic:spPr><a:xfrm><a:off x="0" y="0"/><a:ext cx="360000" cy="360000"/></a:xfrm>' +
  '<a:prstGeom prst="rect"><a:avLst/></a:prstGeom></pic:spPr></pic:pic></a:graphicData></a:graphic></wp:inline></w:drawing></w:r>';
const pixel = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const by = 'w:author="Ann" w:date="2026-01-01T00:00:00Z"';
const fraction =
  "<m:oMath><m:f><m:num><m:r><m:t>3</m:t></m:r></m:num><m:den><m:r><m:t>4</m:t></m:r></m:den></m:f></m:oMath>";
const numbered = '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>';

/** A body with everything that a document may have and an edit has to leave alone. */
export const richBody = [
  p(`<w:bookmarkStart w:id="7" w:name="_Toc1"/>${r("Plan for the mill")}<w:bookmarkEnd w:id="7"/>`, style("Heading1")),
  p(
    r("The ") +
      r("whe", "<w:b/>") +
      r("el", "<w:b/>") +
      r(" turns day and night; see ") +
      `<w:hyperlink r:id="rId6">${r("the race", '<w:u w:val="single"/>')}</w:hyperlink>${r(".")}`,
  ),
  p(
    `<w:commentRangeStart w:id="0"/>${r("Costs &amp; terms")}<w:commentRangeEnd w:id="0"/><w:r><w:commentReference w:id="0"/></w:r>${r(" are open.")}`,
  ),
  p(r("Work"), style("Heading2")),
  p(r("Clear the race"), numbered),
  p(r("Grease the axle"), numbered),
  p(
    `${r("We ask for ")}<w:ins w:id="11" ${by}>${r("three")}</w:ins><w:del w:id="12" ${by}><w:r><w:delText>two</w:delText></w:r></w:del>${r(" days.")}`,
  ),
  p(`${r("Figure 1: the mill")}${picture}`),
  p(
    `${r("The ratio is ")}${fraction}${r(" of the flow")}<w:r><w:footnoteReference w:id="2"/></w:r>${r(", at least.")}`,
  ),
  "<w:p/>",
  table(3, [
    row([cell(p(r("Part", "<w:b/>"))), cell(p(r("Price", "<w:b/>"))), cell(p(r("Note", "<w:b/>")))], "<w:tblHeader/>"),
    row([cell(p(r("Axle"))), cell(p(r("120 €"), '<w:jc w:val="right"/>')), cell("<w:p/>")]),
    row([cell(p(r("Belt"))), cell(p(r("35 €"), '<w:jc w:val="right"/>')), cell(p(r("used")) + p(r("but whole")))]),
    row([cell(p(r("Sum", "<w:i/>")), '<w:gridSpan w:val="2"/>'), cell(p(r("155 €")))]),
  ]),
  p(`${r("Delivery")}<w:r><w:tab/></w:r>${r("in May")}<w:r><w:br/></w:r>${r("or in June.")}`),
  p(r("水车日夜转动。我们需要三天。")),
  p(`${r("Page ")}<w:fldSimple w:instr=" PAGE ">${r("1")}</w:fldSimple>`),
  p(r("Yours, the millers")),
].join("");

/** The parts of a Word document with this body: styles, numbering, a header and a footer, comments, notes, a picture. */
export function wordParts(body: string): Map<string, Uint8Array> {
  const relation = (id: string, type: string, target: string, more = ""): string =>
    `<Relationship Id="${id}" Type="${office}/relationships/${type}" Target="${target}"${more}/>`;
  const relations = "http://schemas.openxmlformats.org/package/2006/relationships";
  const part = (name: string): string =>
    `<Override PartName="/word/${name}.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.${name === "document" ? "document.main" : name.replace(/\d/u, "")}+xml"/>`;
  const section =
    '<w:sectPr><w:headerReference w:type="default" r:id="rId1"/><w:footerReference w:type="default" r:id="rId2"/>' +
    '<w:pgSz w:w="11906" w:h="16838"/><w:pgMar w:top="1417" w:right="1417" w:bottom="1134" w:left="1417" w:header="708" w:footer="708" w:gutter="0"/></w:sectPr>';
  const named = (id: string, name: string, more = ""): string =>
    `<w:style w:type="paragraph" w:styleId="${id}"><w:name w:val="${name}"/>${more}</w:style>`;
  const note = (id: number, type: string, inside: string): string =>
    `<w:footnote${type === "" ? "" : ` w:type="${type}"`} w:id="${id}">${p(inside)}</w:footnote>`;
  const texts: Record<string, string> = {
    "[Content_Types].xml": `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="xml" ContentType="application/xml"/><Default Extension="png" ContentType="image/png"/><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>${["document", "styles", "numbering", "header1", "footer1", "comments", "footnotes", "settings"].map(part).join("")}</Types>`,
    "_rels/.rels": `<Relationships xmlns="${relations}">${relation("rId1", "officeDocument", "word/document.xml")}</Relationships>`,
    "word/document.xml": `<w:document ${namespaces}><w:body>${body}${section}</w:body></w:document>`,
    "word/_rels/document.xml.rels": `<Relationships xmlns="${relations}">${[
      relation("rId1", "header", "header1.xml"),
      relation("rId2", "footer", "footer1.xml"),
      relation("rId3", "styles", "styles.xml"),
      relation("rId4", "image", "media/mill.png"),
      relation("rId5", "numbering", "numbering.xml"),
      relation("rId6", "hyperlink", "https://example.com/race", ' TargetMode="External"'),
      relation("rId7", "comments", "comments.xml"),
      relation("rId8", "footnotes", "footnotes.xml"),
      relation("rId9", "settings", "settings.xml"),
    ].join("")}</Relationships>`,
    "word/styles.xml": `<w:styles xmlns:w="${word}">${named("Normal", "Normal")}${named("Heading1", "heading 1", '<w:rPr><w:b/><w:sz w:val="32"/></w:rPr>')}${named("Heading2", "heading 2", "<w:rPr><w:b/></w:rPr>")}${named("Heading3", "heading 3")}<w:style w:type="table" w:styleId="TableGrid"><w:name w:val="Table Grid"/></w:style></w:styles>`,
    "word/numbering.xml": `<w:numbering xmlns:w="${word}"><w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl></w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num></w:numbering>`,
    "word/header1.xml": `<w:hdr xmlns:w="${word}">${p(r("The millers of the race"))}</w:hdr>`,
    "word/footer1.xml": `<w:ftr xmlns:w="${word}">${p(r("Confidential"))}</w:ftr>`,
    "word/comments.xml": `<w:comments xmlns:w="${word}"><w:comment w:id="0" ${by}>${p(r("Who pays?"))}</w:comment></w:comments>`,
    "word/footnotes.xml": `<w:footnotes xmlns:w="${word}">${note(0, "separator", "<w:r><w:separator/></w:r>")}${note(1, "continuationSeparator", "<w:r><w:continuationSeparator/></w:r>")}${note(2, "", r(" Measured in May."))}</w:footnotes>`,
    "word/settings.xml": `<w:settings xmlns:w="${word}"><w:defaultTabStop w:val="708"/></w:settings>`,
  };
  const parts = new Map<string, Uint8Array>();
  for (const [name, text] of Object.entries(texts)) parts.set(name, Buffer.from(head + text));
  parts.set("word/media/mill.png", pixel);
  return parts;
}

/** A Word document with this body. */
export function aDocx(body: string): Buffer {
  return packParts(wordParts(body), { isPacked: true });
}
