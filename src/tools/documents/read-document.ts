import { AppError, isAppError } from "@millrace/engine/errors/errors";
import type { FileState } from "@millrace/engine/storage/records";
import { type FileContext, withFile } from "../workspace/file-access.ts";
import type { Place } from "../workspace/workspace-path.ts";
import { type DocumentText, formatOf, nameOf, otherThan, type ReadFormat } from "./document-format.ts";
import { inThread } from "./document-thread.ts";

/** Bytes of a document of which the text is read. */
const largestDocument = 50 * 1024 * 1024;

/**
 * The text of a document of the workspace. Throws `too_large`, `timeout`, and `invalid_format` for one that is not what
 * its name says, is protected or damaged, or has no text; each says what can be done.
 */
export async function readDocument(context: FileContext, place: Place, format: ReadFormat): Promise<DocumentText> {
  const file = await withFile(context, place, async (handle, { size }) => {
    if (size > largestDocument) throw tooLarge(place.path, size);
    return Uint8Array.from(await handle.readFile());
  });
  const other = otherThan(format, file.subarray(0, 4096));
  if (other !== undefined) throw notWhatItSays(place.path, format, other);
  try {
    return await textOfDocument(file, format, context.signal);
  } catch (error) {
    throw isAppError(error) ? told(place.path, error) : error;
  }
}

/** The text of a document in memory. Throws as `readDocument` does, without the name of a file. */
export async function textOfDocument(file: Uint8Array, format: ReadFormat, signal: AbortSignal): Promise<DocumentText> {
  const answer = await inThread({ kind: "read", format, file }, signal);
  if (answer.kind !== "text") throw new AppError("invalid_state", "A document was read, and a file came back.");
  const { text, left_out } = answer;
  return { text, left_out };
}

function told(path: string, { code, message, suggestion, cause }: AppError): AppError {
  return new AppError(code, `"${path}" cannot be read. ${message}`, {
    cause,
    suggestion,
  });
}

function tooLarge(path: string, size: number): AppError {
  const megabytes = (bytes: number): string => `${Math.ceil(bytes / 1024 / 1024)} MB`;
  return new AppError(
    "too_large",
    `"${path}" has ${megabytes(size)}; the text of a document is read up to ${megabytes(largestDocument)}.`,
    { suggestion: "Ask the user for a smaller document, or for the part that matters." },
  );
}

function notWhatItSays(path: string, format: ReadFormat, other: string): AppError {
  const isText = other === "plain text";
  return new AppError("invalid_format", `"${path}" is not ${nameOf(format)}: it is ${other}.`, {
    suggestion: isText
      ? "Give it a name that ends in .txt to read it, or ask the user for the right file."
      : "Ask the user for the right file, or for a copy saved in this format without a password.",
  });
}

/**
 * What a document said in each of these states, for who compares them: empty where it was not there. `undefined` for
 * what is no document, is not kept, or has no text. Throws the signal's reason.
 */
export async function documentTexts(
  path: string,
  states: readonly FileState[],
  content: (hash: string) => Promise<Uint8Array | undefined>,
  signal: AbortSignal,
): Promise<string[] | undefined> {
  const format = formatOf(path);
  if (format === undefined) return undefined;
  const texts: string[] = [];
  for (const state of states) {
    if (state.kind === "absent") {
      texts.push("");
      continue;
    }
    const bytes = state.kind === "file" ? await content(state.hash) : undefined;
    if (bytes === undefined) return undefined;
    try {
      texts.push((await textOfDocument(Uint8Array.from(bytes), format, signal)).text);
    } catch (error) {
      signal.throwIfAborted();
      if (isAppError(error)) return undefined;
      throw error;
    }
  }
  return texts;
}
