import { AppError, isAppError } from "@millrace/engine/errors/errors";
import type { FileState } from "@millrace/engine/storage/records";
import type { Edit } from "../files/apply-edits.ts";
import { ServiceKey, type ToolkitServices } from "../runtime/toolkit-services.ts";
import { type FileContext, withFile } from "./file-access.ts";
import type { Place } from "./workspace-path.ts";

/** Bytes of a file of a format of its own that is read. */
const largestFile = 50 * 1024 * 1024;

/** The text of such a file, and what of the file is not in it. */
export interface FormatText {
  text: string;
  left_out: string[];
}

/** What a text becomes in a file, and what the answer of the tool adds about it; empty where it is the text itself. */
export interface FileContent {
  content: string | Uint8Array;
  told: string;
}

/**
 * A kind of file that is no plain text. A toolkit brings it; the tools for files read and write such files by it. Each
 * part that is left out treats the file as text. All throw an `AppError` that does not name the file.
 */
export interface FileFormat {
  /** "a Word document". */
  title: string;
  /** Knows a file by its path. */
  isOf(path: string): boolean;
  read?: (file: Uint8Array, signal: AbortSignal) => Promise<FormatText>;
  /** Makes a file from a text; throws where any text would be a broken file. */
  write?: (text: string, signal: AbortSignal) => Promise<FileContent>;
  /** Changes parts of the text and leaves all else of the file as it is. Throws what `applyEdits` throws. */
  edit?: (file: Uint8Array, edits: readonly Edit[], signal: AbortSignal) => Promise<EditedFile>;
}

/** What edits make of a file: `undefined` where they change nothing. `told` is added to the answer of the tool, in its language. */
export interface EditedFile {
  content: string | Uint8Array | undefined;
  count: number;
  told: string;
  told_zh: string;
}

/** The formats that the server's toolkits bring. */
export const fileFormats = new ServiceKey<readonly FileFormat[]>("file formats");

/** The format of a file; `undefined` for plain text and for what is not known. */
export function formatOf(path: string, services: ToolkitServices): FileFormat | undefined {
  return services.find(fileFormats)?.find((format) => format.isOf(path));
}

/** Whether what is written to this path is not the text itself. */
export function isFormatted(path: string, services: ToolkitServices): boolean {
  return formatOf(path, services)?.write !== undefined;
}

/** The text of a file of a format; `undefined` where it is read as text. Throws what `read` throws, with the file's name. */
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
    throw isAppError(error) ? withName(place.path, "cannot be read", error) : error;
  }
}

/**
 * A file of a format with parts of its text changed; `undefined` where it is edited as text. Throws `invalid_format` for a
 * format that cannot be edited, and what `edit` throws with the file's name.
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
    throw isAppError(error) ? withName(place.path, "was not changed", error) : error;
  }
}

/** The bytes of a file of a format. Throws `too_large`. */
async function formatBytes(context: FileContext, place: Place): Promise<Uint8Array> {
  return withFile(context, place, async (handle, { size }) => {
    if (size > largestFile) throw tooLarge(place.path, size);
    return Uint8Array.from(await handle.readFile());
  });
}

/** An error of a format, with the name of the file before it. */
function withName(path: string, what: string, { code, message, suggestion, cause }: AppError): AppError {
  return new AppError(code, `"${path}" ${what}. ${message}`, { cause, suggestion });
}

function tooLarge(path: string, size: number): AppError {
  const megabytes = (bytes: number): string => `${Math.ceil(bytes / 1024 / 1024)} MB`;
  return new AppError(
    "too_large",
    `"${path}" has ${megabytes(size)}; the text of a document is read up to ${megabytes(largestFile)}.`,
    { suggestion: "Ask the user for a smaller document, or for the part that matters." },
  );
}

/**
 * What a file of a format said in each of these states, for a comparison: empty where it was not there. `undefined` for
 * what has no format, is not kept, or has no text. Throws the signal's reason.
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
