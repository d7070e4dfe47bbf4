/** Non-text documents that `read_file` converts to text. */
export const readFormats = ["docx", "pdf", "odt", "pptx", "xlsx", "rtf"] as const;
export type ReadFormat = (typeof readFormats)[number];

/** The same formats under other extensions: templates, and documents with macros. */
const otherEndings: Record<string, ReadFormat> = {
  docm: "docx",
  dotx: "docx",
  dotm: "docx",
  pptm: "pptx",
  ppsx: "pptx",
  xlsm: "xlsx",
  ott: "odt",
};
/** Legacy formats that cannot be read. */
const oldEndings = new Set(["doc", "xls", "ppt", "wps"]);
const otherDocuments = new Set(["ods", "odp", "epub"]);

function endingOf(path: string): string {
  return /\.([a-z]+)$/iu.exec(path)?.[1]?.toLowerCase() ?? "";
}

/** A document's format by file extension; `undefined` for plain text and unknown ones. */
export function formatOf(path: string): ReadFormat | undefined {
  const ending = endingOf(path);
  return readFormats.find((format) => format === ending) ?? otherEndings[ending];
}

/** Whether the extension is a legacy format. */
export function isOldFormat(path: string): boolean {
  return oldEndings.has(endingOf(path));
}

/** Whether text written under this name must become a Word document. */
export function isWordDocument(path: string): boolean {
  return endingOf(path) === "docx";
}

/**
 * Whether plain text under this name would be a broken file, since only programs write the format. Rich Text is written
 * as text.
 */
export function isMadeByPrograms(path: string): boolean {
  const format = formatOf(path);
  const isOther = isOldFormat(path) || otherDocuments.has(endingOf(path));
  return isOther || (format !== undefined && format !== "rtf" && !isWordDocument(path));
}

const names: Record<ReadFormat, string> = {
  docx: "a Word document",
  pdf: "a PDF",
  odt: "an OpenDocument text",
  pptx: "a presentation",
  xlsx: "a workbook",
  rtf: "a Rich Text document",
};

/** A format's display name. */
export function nameOf(format: ReadFormat): string {
  return names[format];
}

/** The actual kind of a file by its first bytes, if it cannot be this format; else `undefined`. */
export function otherThan(format: ReadFormat, head: Uint8Array): string | undefined {
  const bytes = Buffer.from(head);
  const begin = bytes.toString("latin1", 0, 1024);
  if (bytes.length === 0) return "empty";
  if (format === "pdf" ? begin.includes("%PDF-") : begin.startsWith(format === "rtf" ? "{\\rtf" : "PK"))
    return undefined;
  if (begin.startsWith("\xd0\xcf\x11\xe0")) return "protected with a password, or of an older program";
  if (begin.startsWith("%PDF-")) return "a PDF";
  if (begin.startsWith("{\\rtf")) return "a Rich Text document";
  if (begin.startsWith("PK")) return "a ZIP file";
  return bytes.includes(0) ? "some binary file" : "plain text";
}

/** A document's text, mostly as Markdown, and what it leaves out. */
export interface DocumentText {
  text: string;
  left_out: string[];
}

/** "1 picture", "2 pictures"; empty for none. */
export function counted(count: number, what: string): string[] {
  return count === 0 ? [] : [`${count} ${what}${count === 1 ? "" : "s"}`];
}
