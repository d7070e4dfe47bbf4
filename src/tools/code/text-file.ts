import { AppError } from "@millrace/engine/errors/errors";
import { withFile, type FileContext } from "../files/file-access.ts";
import type { Place } from "../files/workspace-path.ts";

/** Bytes of a file that is edited or parsed whole. */
export const largestText = 8 * 1024 * 1024;

/** The whole text of a file, its byte-order mark with it. Throws `too_large`, and `invalid_format` for what is no UTF-8 text. */
export async function wholeText(context: FileContext, place: Place): Promise<string> {
  const bytes = await withFile(context, place, async (handle, stats) => {
    if (stats.size > largestText) {
      throw new AppError(
        "too_large",
        `"${place.path}" has ${stats.size} bytes; at most ${largestText} are taken whole.`,
        {
          suggestion: "Read it in parts with read_file.",
        },
      );
    }
    return await handle.readFile();
  });
  try {
    if (bytes.includes(0)) throw new TypeError("a zero byte");
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw new AppError("invalid_format", `"${place.path}" is not UTF-8 text but binary or in another encoding.`, {
      suggestion: "Only text can be edited or listed; list_files shows what else is there.",
      cause: error,
    });
  }
}
