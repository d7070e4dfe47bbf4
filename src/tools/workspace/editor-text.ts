import { isAbsolute, relative, sep } from "node:path";
import { AppError, isAppError } from "@millrace/engine/errors/errors";
import type { ToolContext } from "../runtime/tool.ts";
import { wholeText } from "./text-lines.ts";
import { locate } from "./workspace-path.ts";

/** The editor's text if it shows this file and differs from the file on disk; else `undefined`. */
export async function unsavedText(context: ToolContext, path: string): Promise<string | undefined> {
  const { document } = context.conversation;
  if (document === undefined || document.path === "" || plain(document.path, context) !== plain(path, context)) {
    return undefined;
  }
  const text = await document.text();
  try {
    const place = await locate(context.workspace, path);
    return place.kind === "file" && (await wholeText(context, place)) === text ? undefined : text;
  } catch (error) {
    // A file that is not readable as text differs.
    if (isAppError(error)) return text;
    throw error;
  }
}

/** Throws `conflict` if the editor has unsaved text for this file: either change would be lost. */
export async function requireSaved(context: ToolContext, path: string): Promise<void> {
  if ((await unsavedText(context, path)) === undefined) return;
  throw new AppError(
    "conflict",
    `Not changed: "${path}" is open in the user's editor, whose text is not that of the file.`,
    { suggestion: "Change it there with edit_current_editor_document." },
  );
}

function plain(path: string, { workspace }: ToolContext): string {
  const inside = isAbsolute(path) ? relative(workspace, path).split(sep).join("/") : path;
  return inside.replace(/^(?:\.\/)+/u, "");
}
