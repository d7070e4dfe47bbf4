import { AppError, isAppError } from "@millrace/engine/errors/errors";
import { withFile } from "../../tools/workspace/file-access.ts";
import { textLines } from "../../tools/workspace/text-lines.ts";
import { locate } from "../../tools/workspace/workspace-path.ts";

/** Bytes of a file that is read for context; a larger one is no text that a model could be shown. */
const largest = 2 * 1024 * 1024;

/** A text file of the workspace. `modified` is milliseconds since 1970; `bytes` are those on the disk. */
export interface WorkspaceText {
  text: string;
  modified: number;
  bytes: number;
}

/**
 * Reads a text file of the workspace by the rules of the file tools: nothing outside, no link that leads out. Throws
 * `not_found`, `permission`, `invalid_format` for what is no text, `too_large` above 2 MB. A file that has not changed
 * since it was `before` is not read again: then that is the answer.
 */
export async function readWorkspaceText(
  workspace: string,
  path: string,
  signal: AbortSignal,
  before?: WorkspaceText,
): Promise<WorkspaceText> {
  const context = { workspace, repeated: false, signal };
  const place = await locate(workspace, path);
  return await withFile(context, place, async (handle, stats) => {
    if (before !== undefined && before.modified === stats.mtimeMs && before.bytes === stats.size) return before;
    if (stats.size > largest) {
      throw new AppError("too_large", `"${path}" has ${stats.size} bytes; at most ${largest} are read for context.`);
    }
    const parts: string[] = [];
    for await (const lines of textLines(handle, path, signal)) parts.push(...lines);
    return { text: parts.join(""), modified: stats.mtimeMs, bytes: stats.size };
  });
}

/** A text file as `readWorkspaceText` gives it, or `null` where there is no such file. */
export async function readIfThere(workspace: string, path: string, signal: AbortSignal): Promise<WorkspaceText | null> {
  try {
    return await readWorkspaceText(workspace, path, signal);
  } catch (error) {
    if (isAppError(error) && error.code === "not_found") return null;
    throw error;
  }
}
