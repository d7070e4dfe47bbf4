import { AppError } from "@millrace/engine/errors/errors";
import type { Operation, ToolContext } from "../../../src/tools/runtime/tool.ts";
import { isInCriticalFolder, leadsToCritical, look } from "../../../src/tools/workspace/file-checks.ts";
import { replaceFile, writeNewFile } from "../../../src/tools/workspace/file-access.ts";
import { isFormatted } from "../../../src/tools/workspace/file-formats.ts";
import { locate } from "../../../src/tools/workspace/workspace-path.ts";

/**
 * Writes a whole file atomically, creating missing folders; returns its display path. Throws `invalid_parameter` for a
 * name whose format is not plain text.
 */
export async function writeText(context: ToolContext, path: string, content: string | Uint8Array): Promise<string> {
  const place = await locate(context.workspace, path);
  if (typeof content === "string" && isFormatted(place.real, context.toolkitServices)) {
    throw new AppError("invalid_parameter", `"${place.path}" would be a broken file: it is no text.`, {
      suggestion: "Use write_file, which makes Word documents (.docx).",
    });
  }
  if (place.kind === "missing") await writeNewFile(context, place, content);
  else await replaceFile(context, place, content);
  return place.path;
}

/** The effect of writing to a path: a new file, a change, or a change of a critical file. */
export async function writeOperation(context: ToolContext, path: string): Promise<Operation> {
  const place = await look(context.workspace, path, "follow");
  if (typeof place !== "string" && place.kind === "missing") {
    return isInCriticalFolder(path) ? { type: "ModifyCriticalFile", path } : { type: "Create" };
  }
  return leadsToCritical(context.workspace, path, place)
    ? { type: "ModifyCriticalFile", path }
    : { type: "SimpleModify" };
}
