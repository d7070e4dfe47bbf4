import { AppError, isAppError } from "@millrace/engine/errors/errors";
import type { FileState } from "@millrace/engine/storage/records";
import type { Edit } from "../files/apply-edits.ts";
import { ServiceKey, type ToolkitServices } from "../runtime/toolkit-services.ts";
import { type FileContext, withFile } from "./file-access.ts";
import type { Place } from "./workspace-path.ts";

/** Maximum bytes of a document to read. */
const maxDocumentBytes = 50 * 1024 * 1024;

/** A document's text, and what it leaves out. */
export interface FormatText {
  text: string;
  left_out: string[];
}

/** The file content for a text, and a note for the tool's result; empty for plain text. */
export interface FileContent {
  content: string | Uint8Array;
  note: string;
}

/**
 * A file format other than plain text, provided by a toolkit and used by the file tools. Without `read`, `write` or
 * `edit` the file is treated as text there. All throw an `AppError` without the file's name.
 */
export interface FileFormat {
  /** "a Word document". */
  title: string;
  /** Whether a path has this format. */
  isOf(path: string): boolean;
  read?: (file: Uint8Array, signal: AbortSignal) => Promise<FormatText>;
  /** Converts text to a file; throws if the format cannot be written. */
  write?: (text: string, signal: AbortSignal) => Promise<FileContent>;
  /** Changes parts of the text and keeps the rest of the file. Throws `applyEdits`'s errors. */
  edit?: (file: Uint8Array, edits: readonly Edit[], signal: AbortSignal) => Promise<EditedFile>;
}

/** The edited file; `content` is `undefined` if nothing changed. `note` is added to the tool's result. */
export interface EditedFile {
  content: string | Uint8Array | undefined;
  count: number;
  note: string;
  note_zh: string;
}

/** The formats of the server's toolkits. */
export const fileFormats = new ServiceKey<readonly FileFormat[]>("file formats");

/** A file's format; `undefined` for plain text and unknown files. */
export function formatOf(path: string, services: ToolkitServices): FileFormat | undefined {
  return services.find(fileFormats)?.find((format) => format.isOf(path));
}

/** Whether text is converted when written to this path. */
export function isFormatted(path: string, services: ToolkitServices): boolean {
  return formatOf(path, services)?.write !== undefined;
}

/** A document's text; `undefined` for plain text. Throws `read`'s errors with the file's name. */
export async function formatText(
  context: FileContext & { toolkitServices: ToolkitServices },
  place: Place,
): Promise<(FormatText & { title: string }) | undefined> {
  const format = formatOf(place.real, context.toolkitServices);
  if (format?.read === undefined) return undefined;
  const file = await formatBytes(context, place);
  try {
    return { title: format.title, ...(await format.read(file, context.signal)) };
  } catch (error) {
    throw isAppError(error) ? withName(place.path, ["cannot be read", "无法读取"], error) : error;
  }
}

/**
 * Edits a document's text; `undefined` for plain text. Throws `invalid_format` if the format cannot be edited, and
 * `edit`'s errors with the file's name.
 */
export async function editFormat(
  context: FileContext & { toolkitServices: ToolkitServices },
  place: Place,
  edits: readonly Edit[],
): Promise<EditedFile | undefined> {
  const format = formatOf(place.real, context.toolkitServices);
  if (format?.edit === undefined) {
    if (format?.write === undefined || place.kind !== "file") return undefined;
    throw new AppError(
      "invalid_format",
      `"${place.path}" cannot be edited: only text and Word documents (.docx) can.`,
      {
        suggestion: "Write the change to a new file, or ask the user to make it in the program of the document.",
      },
    );
  }
  const file = await formatBytes(context, place);
  try {
    return await format.edit(file, edits, context.signal);
  } catch (error) {
    throw isAppError(error) ? withName(place.path, ["was not changed", "未作更改"], error) : error;
  }
}

/** A document's bytes. Throws `too_large`. */
async function formatBytes(context: FileContext, place: Place): Promise<Uint8Array> {
  return withFile(context, place, async (handle, { size }) => {
    if (size > maxDocumentBytes) throw tooLarge(place.path, size);
    return Uint8Array.from(await handle.readFile());
  });
}

/** Adds the file's name to a format's error. */
function withName(path: string, [what, what_zh]: [en: string, zh: string], error: AppError): AppError {
  const { code, message, suggestion, cause } = error;
  const message_zh = error.message_zh && `“${path}”${what_zh}：${error.message_zh}`;
  return new AppError(code, `"${path}" ${what}. ${message}`, { cause, suggestion, message_zh });
}

function tooLarge(path: string, size: number): AppError {
  const megabytes = (bytes: number): string => `${Math.ceil(bytes / 1024 / 1024)} MB`;
  return new AppError(
    "too_large",
    `"${path}" has ${megabytes(size)}; the text of a document is read up to ${megabytes(maxDocumentBytes)}.`,
    { suggestion: "Ask the user for a smaller document, or for the part that matters." },
  );
}

/**
 * A document's text in each of these states, for a diff; empty if absent. `undefined` if it has no format, is not
 * stored or has no text. Throws the signal's reason.
 */
export async function formatTexts(
  format: FileFormat | undefined,
  states: readonly FileState[],
  content: (hash: string) => Promise<Uint8Array | undefined>,
  signal: AbortSignal,
): Promise<string[] | undefined> {
  if (format?.read === undefined) return undefined;
  const texts: string[] = [];
  for (const state of states) {
    if (state.kind === "absent") {
      texts.push("");
      continue;
    }
    const bytes = state.kind === "file" ? await content(state.hash) : undefined;
    if (bytes === undefined) return undefined;
    try {
      texts.push((await format.read(Uint8Array.from(bytes), signal)).text);
    } catch (error) {
      signal.throwIfAborted();
      if (isAppError(error)) return undefined;
      throw error;
    }
  }
  return texts;
}
