import { createHash } from "node:crypto";
import { AppError, isAppError } from "@millrace/engine/errors/errors";
import type { FileState } from "@millrace/engine/storage/records";
import { withFile, type FileContext } from "../workspace/file-access.ts";
import { holdsText, reconcileWrite } from "../workspace/reconcile.ts";
import { locate, type Place } from "../workspace/workspace-path.ts";
import { isMadeByPrograms, isWordDocument } from "./document-format.ts";
import { seenWhole } from "../workspace/seen-files.ts";
import { success, type ToolResult } from "../runtime/result.ts";
import type { Reconciled, ToolContext } from "../runtime/tool.ts";
import { textOfDocument } from "./read-document.ts";
import { wordDocument } from "./write/write-document.ts";

/** What is written to a file for a text, and what is to be told of it: nothing where it is the text itself. */
export interface FileContent {
  content: string | Uint8Array;
  told: string;
}

/**
 * What a file of this name holds for a text that a model has written: the text, or the Word document that is made of it. Throws
 * `invalid_parameter` for a name under which any text would be a broken file, and what making a document throws.
 */
export async function fileContent(place: Place, text: string, signal: AbortSignal): Promise<FileContent> {
  const { path, real } = place;
  if (isMadeByPrograms(real)) {
    throw new AppError("invalid_parameter", `"${path}" would be a broken file: such files cannot be made from text.`, {
      suggestion: "Write a Word document (.docx) from HTML or Markdown, or a text file such as .md, .html or .csv.",
    });
  }
  if (!isWordDocument(real)) return { content: text, told: "" };
  const { file, syntax, left_out } = await wordDocument(text, signal);
  const source = syntax === "html" ? "HTML" : "Markdown";
  const without = left_out.length === 0 ? "" : `, without ${left_out.join(", ")}`;
  return { content: file, told: `, a Word document made from ${source}${without}` };
}

/** Whether a file holds what would be written for a text: byte by byte, a Word document by what it says. */
export async function holdsContent(context: FileContext, place: Place, text: string): Promise<boolean> {
  if (place.kind !== "file") return false;
  const file = await withFile(context, place, async (handle, { size }) =>
    isWordDocument(place.real) || size === Buffer.byteLength(text) ? await handle.readFile() : undefined,
  );
  if (file === undefined) return false;
  if (!isWordDocument(place.real)) return file.equals(Buffer.from(text));
  const { file: made } = await wordDocument(text, context.signal);
  const [now, wanted] = [
    await textOfDocument(Uint8Array.from(file), "docx", context.signal),
    await textOfDocument(Uint8Array.from(made), "docx", context.signal),
  ];
  return now.text === wanted.text;
}

/**
 * Whether what lies at a path after a crash is what a call has written for a text. A Word document never has the same
 * bytes twice, so it is known by what it says.
 */
async function isWritten(
  context: FileContext,
  at: { path: string; lastLink: "follow" | "keep" },
  text: string,
): Promise<(now: FileState) => boolean> {
  const place = await locate(context.workspace, at.path, at.lastLink);
  if (!isWordDocument(place.real)) return (now) => holdsText(now, text);
  if (place.kind !== "file") return () => false;
  const bytes = await withFile(context, place, (handle) => handle.readFile());
  const hash = createHash("sha256").update(bytes).digest("hex");
  const holds = await holdsContent(context, place, text).catch(unreadable);
  return (now) => holds && now.kind === "file" && now.hash === hash;
}

/** Whether a call had its effect that has written a text to a file; `isBegun` as in `reconcileWrite`. */
export async function reconcileContent(
  context: ToolContext,
  at: { path: string; lastLink: "follow" | "keep" },
  text: string,
  expected: Pick<Parameters<typeof reconcileWrite>[2], "isBegun" | "result">,
): Promise<Reconciled> {
  const isDone = await isWritten(context, at, text);
  return reconcileWrite(context, at, { ...expected, isDone: ({ now }) => isDone(now) });
}

/** The result of a call that has written a file whole. */
export function wroteFile(verb: string, path: string, content: string | Uint8Array, told = ""): ToolResult {
  const bytes = Buffer.byteLength(content);
  return {
    ...success(`${verb} ${path} (${bytes} bytes)${told}.`, { data: { path, bytes } }),
    seen: seenWhole(path, content),
  };
}

/** What cannot be read is not what was written. */
function unreadable(error: unknown): false {
  if (isAppError(error)) return false;
  throw error;
}
