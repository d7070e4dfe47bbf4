import { z } from "zod";
import { AppError } from "@millrace/engine/errors/errors";
import { success, type ToolResult } from "../runtime/result.ts";
import { defineTool } from "../runtime/tool.ts";
import { makeFolders } from "../workspace/file-access.ts";
import { reconcileWrite } from "../workspace/reconcile.ts";
import { locate, parsePath } from "../workspace/workspace-path.ts";
import { changesPath } from "../workspace/file-checks.ts";

/** Creates a folder with its parents. */
export const createFolder = defineTool({
  name: "create_folder",
  description: "Creates a folder in the workspace, with the folders above it. Fails if anything of that name exists.",
  schema: z.object({ path: z.string().describe("path of the new folder, relative to the workspace") }),
  files: [],
  ...changesPath("keep"),
  kinds: ["Create"],
  operation: async () => ({ type: "Create" }),
  run: async (input, context) => {
    const place = await locate(context.workspace, input.path, "keep");
    const isOwn = context.repeated && place.kind === "folder";
    const made = place.kind === "missing" ? await makeFolders(context, place.existing, place.missing) : [];
    // It existed before, or someone else created it first.
    if (!isOwn && made.at(-1) !== place.real) {
      throw new AppError("conflict", `"${place.path}" exists already.`, {
        suggestion: "Use it as it is, or choose another name.",
      });
    }
    return created(place.path);
  },
  reconcile: ({ path }, context) =>
    reconcileWrite(
      context,
      { path, lastLink: "keep" },
      {
        isDone: ({ now, before }) => now.kind === "folder" && before?.kind === "absent",
        result: () => created(parsePath(path).join("/")),
      },
    ),
  example: { title: "Two levels", body: '{"path": "reports/2026"}' },
});

function created(path: string): ToolResult {
  return success(`Created the folder ${path}/.`, { data: { path }, message_zh: `已创建文件夹 ${path}/。` });
}
