import { lstat, readdir, rmdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { success, type ToolResult } from "../runtime/result.ts";
import { defineTool, type ToolContext } from "../runtime/tool.ts";
import { keptEntries } from "../undo/kept-entries.ts";
import { changesPath, leadsToCritical, look } from "../workspace/file-checks.ts";
import { confirmEffect, notFound } from "../workspace/file-access.ts";
import { isRestOf, reconcileWrite } from "../workspace/reconcile.ts";
import { walk } from "../workspace/walk.ts";
import { locate, ownName, parsePath, withFolder } from "../workspace/workspace-path.ts";

/** Maximum number of entries counted for the question to the user. */
const countedEntries = 100_000;

/** Deletes a file, a link (never its target), or a folder with its contents. */
export const deleteFile = defineTool({
  name: "delete_file",
  description: "Deletes a file of the workspace, or a folder with everything in it. The user is asked first.",
  schema: z.object({ path: z.string().describe("path of the file or folder, relative to the workspace") }),
  ...changesPath("keep"),
  textAfter: async () => "",
  kinds: ["DeleteFile", "DeleteFolder", "ModifyCriticalFile", "Query"],
  async operation(input, context) {
    const place = await look(context.workspace, input.path, "keep");
    if (place === "refused") return { type: "Query" };
    if (typeof place !== "string" && place.kind === "folder") {
      let entries = 0;
      const kept = keptEntries();
      for await (const entry of walk(context, place, true)) {
        await kept.add(entry);
        if (++entries >= countedEntries) break;
      }
      return { type: "DeleteFolder", path: place.path, entries, not_kept: kept.notKept() };
    }
    if (leadsToCritical(context.workspace, input.path, place)) return { type: "ModifyCriticalFile", path: input.path };
    // Also if missing now: another call of the same turn may create it first.
    return { type: "DeleteFile", path: input.path };
  },
  run: async (input, context) => {
    const place = await locate(context.workspace, input.path, "keep");
    const { folder, name } = ownName(context.workspace, place);
    if (place.kind === "missing") {
      if (!context.repeated) throw await notFound(context.workspace, place);
      return deleted(place.path);
    }
    if (place.kind === "folder") await deleteFolder(context, folder, name);
    else {
      await confirmEffect(context);
      await withFolder(context.workspace, folder, (at) => unlink(at(name)));
    }
    return deleted(place.path, place.kind === "folder");
  },
  // A file created at this path between crash and restart is not deleted.
  reconcile: ({ path }, context) =>
    reconcileWrite(
      context,
      { path, lastLink: "keep" },
      {
        isDone: ({ now }) => now.kind === "absent",
        isBegun: ({ now, before }) => isRestOf(now, before),
        result: () => deleted(parsePath(path).join("/")),
      },
    ),
  example: { title: "Delete a folder", body: '{"path": "old-reports"}' },
  guideline: "Delete only what the user named.",
});

function deleted(path: string, isFolder = false): ToolResult {
  const what = isFolder ? `the folder ${path}/ with everything in it` : path;
  return success(`Deleted ${what}.`, {
    data: { path },
    message_zh: isFolder ? `已删除文件夹 ${path}/ 及其全部内容。` : `已删除 ${path}。`,
  });
}

/**
 * Deletes depth first. Each folder is opened and checked again, so that a link swapped in is deleted and not followed.
 */
async function deleteFolder(context: ToolContext, parent: string, name: string): Promise<void> {
  context.signal.throwIfAborted();
  await confirmEffect(context);
  const folder = join(parent, name);
  const subfolders = await withFolder(context.workspace, folder, async (at) => {
    const found: string[] = [];
    for (const entry of await readdir(at("."))) {
      const isFolder = (await lstat(at(entry))).isDirectory();
      if (isFolder) found.push(entry);
      else await unlink(at(entry));
    }
    return found;
  });
  for (const subfolder of subfolders) await deleteFolder(context, folder, subfolder);
  await withFolder(context.workspace, parent, (at) => rmdir(at(name)));
}
