import { z } from "zod";
import { AppError } from "@millrace/engine/errors/errors";
import { success, type ToolResult } from "../runtime/result.ts";
import { defineTool } from "../runtime/tool.ts";
import { fileSeconds, writing } from "../workspace/file-checks.ts";
import { moveEntry, moveOperation } from "./move-file.ts";
import { reconcileMove } from "../workspace/reconcile.ts";
import { parsePath } from "../workspace/workspace-path.ts";

/** Renames a file or folder within its folder; never overwrites. */
export const renameFile = defineTool({
  name: "rename_file",
  description:
    "Gives a file or folder of the workspace another name; it stays in its folder. Fails if that name is taken. Use " +
    "move_file for another folder.",
  schema: z.object({
    path: z.string().describe("path of the file or folder, relative to the workspace"),
    new_name: z.string().describe("the new name alone, without folders"),
  }),
  offered: { twinOf: "move_file" },
  moves: true,
  effect: "reconcilable",
  timeoutSeconds: fileSeconds,
  resources: (input, context) => [
    writing(context.workspace, input.path),
    writing(context.workspace, sibling(input.path, input.new_name)),
  ],
  kinds: ["SimpleModify", "IrreversibleOperation", "ModifyCriticalFile"],
  operation: (input, context) => moveOperation(context.workspace, input.path, sibling(input.path, input.new_name)),
  run: async (input, context) => {
    const names = parsePath(input.path);
    if (names.length === 0) throw new AppError("permission", "Refused: the workspace itself cannot be renamed.");
    if (/[/\\]/.test(input.new_name) || parsePath(input.new_name).length !== 1) {
      throw new AppError("invalid_parameter", `new_name is a name alone, without folders; "${input.new_name}" came.`, {
        suggestion: "Use move_file to move it to another folder.",
      });
    }
    if (names.at(-1) === input.new_name) {
      throw new AppError("invalid_parameter", `"${names.join("/")}" has this name already.`);
    }
    const [from, to] = await moveEntry(context, input.path, sibling(input.path, input.new_name));
    return renamed(from.path, input.new_name, to.path);
  },
  touches: ({ path, new_name }) => ({ kind: "move", from: path, to: sibling(path, new_name) }),
  reconcile: ({ path, new_name }, context) =>
    reconcileMove(context, () => renamed(parsePath(path).join("/"), new_name, sibling(path, new_name))),
  example: { title: "Another name", body: '{"path": "texts/draft.md", "new_name": "final.md"}' },
});

function sibling(path: string, name: string): string {
  const names = path.split("/").filter((part) => part !== "" && part !== ".");
  return [...names.slice(0, -1), name].join("/");
}

function renamed(from: string, name: string, to: string): ToolResult {
  return success(`Renamed ${from} to ${name}.`, {
    data: { path: to, old_path: from },
    message_zh: `已将 ${from} 重命名为 ${name}。`,
  });
}
