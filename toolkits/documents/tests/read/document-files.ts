import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tools } from "../../../../src/tools/index.ts";
import type { ToolResult } from "../../../../src/tools/runtime/result.ts";
import { aWorkspace, type Workspace } from "../../../../tests/support/a-workspace.ts";
import { packParts } from "../../formats/zip-parts.ts";

/** A ZIP file of these parts. */
export const pack = (parts: Record<string, string>): Buffer =>
  packParts(new Map(Object.entries(parts).map(([name, text]) => [name, Buffer.from(text)])));

/** The namespace of relationships between parts. */
export const rels = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
/** The namespace of Word. */
export const word = "http://schemas.openxmlformats.org/wordprocessingml/2006/main";

/** A Word document with this body, and further parts. */
export function aWordDocument(body: string, more: Record<string, string> = {}): Buffer {
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
/** A paragraph of a Word document. */
export const paragraph = (text: string): string => `<w:p><w:r><w:t>${text}</w:t></w:r></w:p>`;

/** A workspace whose files `read_file` reads. */
export interface DocumentFiles {
  workspace: Workspace;
  /** Writes a file. */
  put(path: string, bytes: Uint8Array): Promise<void>;
  /** Reads a file with the tool; `more` are further arguments. */
  read(path: string, more?: object): Promise<ToolResult>;
  close(): Promise<void>;
}

/** Makes the workspace. */
export async function openDocumentFiles(): Promise<DocumentFiles> {
  const workspace = await aWorkspace();
  return {
    workspace,
    put: (path, bytes) => writeFile(join(workspace.root, path), bytes),
    read: (path, more = {}) => workspace.call(tools.read_file, { path, ...more }),
    close: async () => await workspace[Symbol.asyncDispose](),
  };
}

/** A PDF with these lines on its pages; a page without lines has a drawing. `packed` is a stream as it lies in the file, with what it says of itself. */
export function aPdf(pages: string[][], packed?: { data: Buffer; filter: string }): Buffer {
  const objects: (string | Buffer)[] = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    `<< /Type /Pages /Count ${pages.length} /Kids [${pages.map((_, index) => `${4 + 2 * index} 0 R`).join(" ")}] >>`,
    "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
  ];
  for (const [index, lines] of pages.entries()) {
    objects.push(
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >> /Contents ${5 + 2 * index} 0 R >>`,
    );
    const shown = lines.map((line) => `(${line.replaceAll(/[\\()]/gu, String.raw`\$&`)}) Tj T*`).join("\n");
    const drawing = lines.length === 0 ? "10 10 100 100 re f" : `BT /F1 12 Tf 14 TL 72 720 Td\n${shown}\nET`;
    const data = packed?.data ?? Buffer.from(drawing, "latin1");
    const filter = packed === undefined ? "" : ` /Filter /${packed.filter}`;
    objects.push(
      Buffer.concat([Buffer.from(`<< /Length ${data.length}${filter} >>\nstream\n`), data, Buffer.from("\nendstream")]),
    );
  }
  return pdfOf(objects);
}

/** What a PDF shows in an encoding that it only names: codes as hexadecimal digits, and beside them a line of plain letters. */
export function aPdfInEncoding(encoding: string, ordering: string, codes: string): Buffer {
  const shown = `BT /F1 12 Tf 14 TL 72 720 Td <${codes}> Tj T* /F2 12 Tf (plain) Tj ET`;
  const descriptor =
    "<< /Type /FontDescriptor /FontName /Song /Flags 6 /Ascent 880 /Descent -120 /CapHeight 880 /ItalicAngle 0 /StemV 93 /FontBBox [0 0 1000 880] >>";
  return pdfOf([
    "<< /Type /Catalog /Pages 2 0 R >>",
    "<< /Type /Pages /Count 1 /Kids [4 0 R] >>",
    `<< /Type /Font /Subtype /Type0 /BaseFont /Song /Encoding /${encoding} /DescendantFonts [6 0 R] >>`,
    "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R /F2 7 0 R >> >> /Contents 5 0 R >>",
    `<< /Length ${shown.length} >>\nstream\n${shown}\nendstream`,
    `<< /Type /Font /Subtype /CIDFontType0 /BaseFont /Song /CIDSystemInfo << /Registry (Adobe) /Ordering (${ordering}) /Supplement 2 >> /DW 1000 /FontDescriptor ${descriptor} >>`,
    "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
  ]);
}

function pdfOf(objects: readonly (string | Buffer)[]): Buffer {
  const parts = [Buffer.from("%PDF-1.4\n")];
  const places = objects.map((object, index) => {
    const at = parts.reduce((sum, { length }) => sum + length, 0);
    parts.push(Buffer.from(`${index + 1} 0 obj\n`), Buffer.from(object), Buffer.from("\nendobj\n"));
    return at;
  });
  const start = parts.reduce((sum, { length }) => sum + length, 0);
  const list = places.map((at) => `${String(at).padStart(10, "0")} 00000 n \n`).join("");
  const end = `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${list}trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\n`;
  return Buffer.concat([...parts, Buffer.from(`${end}startxref\n${start}\n%%EOF\n`)]);
}
