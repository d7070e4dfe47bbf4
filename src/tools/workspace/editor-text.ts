import { isAbsolute, relative, sep } from "node:path";
import { AppError, isAppError } from "@millrace/engine/errors/errors";
import type { ToolContext } from "../runtime/tool.ts";
import { wholeText } from "./text-lines.ts";
import { locate } from "./workspace-path.ts";

/**
 * The text of the user's editor, where it shows this file and the file on disk says something else, or is not there;
 * `undefined` where the file is what counts.
 */
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
    // What cannot be read as text does not say the same.
    if (isAppError(error)) return text;
    throw error;
  }
}

/** Throws `conflict` where the user's editor shows this file with another text: the change would be lost, or the user's work. */
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
