import { AppError } from "@millrace/engine/errors/errors";
import type { Edit } from "../../../src/tools/files/apply-edits.ts";
import type { EditedFile, FileContent, FileFormat, FormatText } from "../../../src/tools/workspace/file-formats.ts";
import { wordDocument } from "../write/write-document.ts";
import {
  formatOf,
  isMadeByPrograms,
  isOldFormat,
  isWordDocument,
  nameOf,
  otherThan,
  readFormats,
} from "./document-format.ts";
import type { ReadFormat } from "./document-format.ts";
import { inThread } from "./document-thread.ts";

/** Document formats for the file tools. */
export const documentFormats: readonly FileFormat[] = [
  { title: nameOf("docx"), isOf: isWordDocument, read: readAs("docx"), write: wordContent, edit: editedWord },
  ...readFormats.map((format): FileFormat => ({
    title: nameOf(format),
    isOf: (path) => formatOf(path) === format,
    read: readAs(format),
    // Rich Text is text that a model can write.
    ...(format === "rtf" ? {} : { write: notMadeFromText }),
    ...(format === "docx" ? { edit: editedWord } : {}),
  })),
  { title: "a document of an older program", isOf: isOldFormat, read: oldFormat, write: notMadeFromText },
  // Reading them as text fails anyway.
  { title: "a document", isOf: isMadeByPrograms, write: notMadeFromText },
];

function readAs(format: ReadFormat): NonNullable<FileFormat["read"]> {
  return (file, signal) => readDocument(file, format, signal);
}

/**
 * The text of a document. Throws `too_large`, `timeout`, and `invalid_format` for one that has another format, is
 * protected or damaged, or has no text; each error names a remedy.
 */
export async function readDocument(file: Uint8Array, format: ReadFormat, signal: AbortSignal): Promise<FormatText> {
  const other = otherThan(format, file.subarray(0, 4096));
  if (other !== undefined) throw notWhatItSays(format, other);
  const answer = await inThread({ kind: "read", format, file }, signal);
  if (answer.kind !== "text") throw new AppError("invalid_state", "A document was read, and a file came back.");
  const { text, left_out } = answer;
  return { text, left_out };
}

async function wordContent(text: string, signal: AbortSignal): Promise<FileContent> {
  const { file, syntax, left_out } = await wordDocument(text, signal);
  const source = syntax === "html" ? "HTML" : "Markdown";
  const without = left_out.length === 0 ? "" : `, without ${left_out.join(", ")}`;
  return { content: file, note: `, a Word document made from ${source}${without}` };
}

async function editedWord(file: Uint8Array, edits: readonly Edit[], signal: AbortSignal): Promise<EditedFile> {
  const other = otherThan("docx", file.subarray(0, 4096));
  if (other !== undefined) throw notWhatItSays("docx", other);
  const answer = await inThread({ kind: "edit", file, edits: [...edits] }, signal);
  if (answer.kind !== "edited")
    throw new AppError("invalid_state", "A document was edited, and something else came back.");
  const { file: content, count, kept } = answer;
  const whole = kept === 1 ? "1 paragraph is" : `${kept} paragraphs are`;
  const note = kept === 0 ? "" : `; ${whole} empty now and stay, since a picture, a comment or the like is in there`;
  const note_zh = kept === 0 ? "" : `；${kept} 个段落的文字已删除，但段落保留，因为其中有图片、批注等内容`;
  return { content, count, note, note_zh };
}

async function notMadeFromText(): Promise<FileContent> {
  throw new AppError("invalid_parameter", "It would be a broken file: such files cannot be made from text.", {
    suggestion: "Write a Word document (.docx) from HTML or Markdown, or a text file such as .md, .html or .csv.",
  });
}

async function oldFormat(): Promise<FormatText> {
  throw new AppError("invalid_format", "It is a document of an older program, which are not read.", {
    suggestion: "Ask the user to save it as .docx, .xlsx, .pptx or .pdf.",
  });
}

function notWhatItSays(format: ReadFormat, other: string): AppError {
  const isText = other === "plain text";
  return new AppError("invalid_format", `It is not ${nameOf(format)}: it is ${other}.`, {
    suggestion: isText
      ? "Give it a name that ends in .txt to read it, or ask the user for the right file."
      : "Ask the user for the right file, or for a copy saved in this format without a password.",
  });
}
