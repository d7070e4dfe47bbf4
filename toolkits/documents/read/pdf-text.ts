import { extractText, getDocumentProxy } from "unpdf";
import { AppError, errorMessage } from "@millrace/engine/errors/errors";
import { counted, type DocumentText } from "../formats/document-format.ts";
import { encodingTable } from "./pdf-encodings.ts";

/** Maximum pages read. */
const maxPages = 2000;
/** The replacement for an unknown character. */
const unreadableCharacter = "\ufffd";

/**
 * The text of a PDF by page, and what may be missing. Throws `invalid_format` for a broken or protected one, or one
 * without text.
 */
export async function pdfText(file: Uint8Array): Promise<DocumentText> {
  if (!Buffer.from(file.subarray(0, 1024)).toString("latin1").includes("%PDF-")) {
    throw new AppError("invalid_format", "It is not a PDF, whatever its name says.", {
      suggestion: "Look at what the file really is, or ask the user.",
    });
  }
  const unknown = new Set<string>();
  const tables = { cMapPacked: false, useWorkerFetch: false, BinaryDataFactory: tablesTelling(unknown) };
  const document = await getDocumentProxy(file, { verbosity: 0, ...tables }).catch(unreadable);
  try {
    if (document.numPages > maxPages) {
      throw new AppError("too_large", `It has ${document.numPages} pages; at most ${maxPages} are read.`, {
        suggestion: "Ask the user for the part that matters.",
      });
    }
    const { text } = await extractText(document).catch(unreadable);
    const empty = text.filter((page) => page.trim() === "").length;
    const lost = text.reduce((sum, page) => sum + page.split(unreadableCharacter).length - 1, 0);
    const isUnknown = unknown.size > 0 || lost > 0;
    if (empty === text.length || text.every((page) => !/[^\s\ufffd]/u.test(page))) {
      throw isUnknown ? unknownEncoding([...unknown]) : withoutText(text.length);
    }
    const pages = text.map((page, index) => `## Page ${index + 1}\n\n${tidied(page)}\n`);
    const names = [...unknown].join(", ");
    return {
      text: pages.join("\n"),
      left_out: [
        ...counted(empty, "empty page"),
        ...(lost === 0
          ? []
          : [`${counted(lost, "character").join("")} of which the file does not say what they are (�)`]),
        ...(names === "" ? [] : [`text in the encoding ${names}, which is not known here`]),
      ],
    };
  } finally {
    await document.loadingTask.destroy();
  }
}

/** Provides the tables the reader requests by its own names, and records missing ones. */
function tablesTelling(unknown: Set<string>) {
  return class {
    readonly fetch = async ({ kind, filename }: { kind: string; filename: string }): Promise<Uint8Array> => {
      const table = kind === "cMapUrl" ? encodingTable(filename) : undefined;
      if (table !== undefined) return new TextEncoder().encode(table);
      if (kind === "cMapUrl") unknown.add(filename);
      throw new Error(`There is no table ${filename}.`);
    };
  };
}

function unknownEncoding(names: readonly string[]): AppError {
  const what = names.length === 0 ? "an encoding that the file does not explain" : `the encoding ${names.join(", ")}`;
  return new AppError("invalid_format", `Its text is in ${what}, which cannot be read here.`, {
    suggestion: "Ask the user for a copy that another program has saved, or for the text itself.",
  });
}

function tidied(page: string): string {
  return page
    .replaceAll(/[^\S\n]+/gu, " ")
    .replaceAll(/ ?\n ?/gu, "\n")
    .replaceAll(/\n{3,}/gu, "\n\n")
    .trim();
}

function withoutText(pages: number): AppError {
  const pages_zh =
    pages === 1 ? "这一页没有文字，可能是扫描得到的图片" : `这 ${pages} 页没有文字，可能是扫描得到的图片`;
  const where =
    pages === 1
      ? "its page, which is probably a picture, as a scanner makes it"
      : `its ${pages} pages, which are probably pictures, as a scanner makes them`;
  return new AppError("invalid_format", `There is no text in ${where}.`, {
    suggestion: "Ask the user for a version with text, or to let a program recognise the text (OCR).",
    message_zh: `${pages_zh}。请使用带文字的版本，或先进行文字识别（OCR）。`,
  });
}

function unreadable(cause: unknown): never {
  const isProtected = cause instanceof Error && cause.name === "PasswordException";
  throw new AppError(
    "invalid_format",
    isProtected ? "It is protected with a password." : `It cannot be read as a PDF: ${errorMessage(cause)}`,
    {
      suggestion: isProtected ? "Ask the user for a copy without a password." : "Ask the user for a whole copy.",
      ...(isProtected ? { message_zh: "文件受密码保护。" } : {}),
      cause,
    },
  );
}
