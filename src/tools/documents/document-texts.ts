import { isAppError } from "@millrace/engine/errors/errors";
import type { FileState } from "@millrace/engine/storage/records";
import { formatOf } from "./document-format.ts";
import { textOfDocument } from "./read-document.ts";

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
