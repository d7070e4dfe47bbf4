import { AppError, isAppError } from "@millrace/engine/errors/errors";
import { withFile } from "../../tools/workspace/file-access.ts";
import { textLines } from "../../tools/workspace/text-lines.ts";
import { locate } from "../../tools/workspace/workspace-path.ts";

/** Maximum bytes of a file read for context; larger ones do not fit into a model's window. */
const maxFileBytes = 2 * 1024 * 1024;

/** A text file. `modified` is Unix ms; `bytes` is its size on disk. */
export interface WorkspaceText {
  text: string;
  modified: number;
  bytes: number;
}

/**
 * Reads a text file by the rules of the file tools: nothing outside of the workspace, no link that leads out. Throws
 * `not_found`, `permission`, `invalid_format` for binary files, `too_large` above 2 MB. Returns `before` if the file has
 * not changed since.
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
    if (stats.size > maxFileBytes) {
      throw new AppError(
        "too_large",
        `"${path}" has ${stats.size} bytes; at most ${maxFileBytes} are read for context.`,
      );
    }
    const parts: string[] = [];
    for await (const lines of textLines(handle, path, signal)) parts.push(...lines);
    return { text: parts.join(""), modified: stats.mtimeMs, bytes: stats.size };
  });
}

/** A text file as `readWorkspaceText` returns it, or `null` if it does not exist. */
export async function readIfThere(workspace: string, path: string, signal: AbortSignal): Promise<WorkspaceText | null> {
  try {
    return await readWorkspaceText(workspace, path, signal);
  } catch (error) {
    if (isAppError(error) && error.code === "not_found") return null;
    throw error;
  }
}
