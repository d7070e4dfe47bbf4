import { extractText, getDocumentProxy } from "unpdf";
import { AppError, errorMessage } from "../../errors.ts";
import { counted, type DocumentText } from "./document-text.ts";

/** Pages of which the text is taken. */
const mostPages = 2000;

/** The text of a PDF, page by page. Throws `invalid_format` for one that is broken, protected, or without any text. */
export async function pdfText(file: Uint8Array): Promise<DocumentText> {
  if (!Buffer.from(file.subarray(0, 1024)).toString("latin1").includes("%PDF-")) {
    throw new AppError("invalid_format", "It is not a PDF, whatever its name says.", {
      suggestion: "Look at what the file really is, or ask the user.",
    });
  }
  const document = await getDocumentProxy(file, { verbosity: 0 }).catch(unreadable);
  try {
    if (document.numPages > mostPages) {
      throw new AppError("too_large", `It has ${document.numPages} pages; at most ${mostPages} are read.`, {
        suggestion: "Ask the user for the part that matters.",
      });
    }
    const { text } = await extractText(document).catch(unreadable);
    const empty = text.filter((page) => page.trim() === "").length;
    if (empty === text.length) throw withoutText(text.length);
    const pages = text.map((page, index) => `## Page ${index + 1}\n\n${tidied(page)}\n`);
    return { text: pages.join("\n"), left_out: counted(empty, "empty page") };
  } finally {
    await document.loadingTask.destroy();
  }
}

function tidied(page: string): string {
  return page
    .replaceAll(/[^\S\n]+/gu, " ")
    .replaceAll(/ ?\n ?/gu, "\n")
    .replaceAll(/\n{3,}/gu, "\n\n")
    .trim();
}

function withoutText(pages: number): AppError {
  const where =
    pages === 1
      ? "its page, which is probably a picture, as a scanner makes it"
      : `its ${pages} pages, which are probably pictures, as a scanner makes them`;
  return new AppError("invalid_format", `There is no text in ${where}.`, {
    suggestion: "Ask the user for a version with text, or to let a program recognise the text (OCR).",
  });
}

function unreadable(cause: unknown): never {
  const isProtected = cause instanceof Error && cause.name === "PasswordException";
  throw new AppError(
    "invalid_format",
    isProtected ? "It is protected with a password." : `It cannot be read as a PDF: ${errorMessage(cause)}`,
    {
      suggestion: isProtected ? "Ask the user for a copy without a password." : "Ask the user for a whole copy.",
      cause,
    },
  );
}
