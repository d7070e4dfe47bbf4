import { z } from "zod";
import { AppError } from "@millrace/engine/errors/errors";
import { replaceFile } from "../../../src/tools/workspace/file-access.ts";
import { reconcileWrite } from "../../../src/tools/workspace/reconcile.ts";
import { editOperation } from "../../../src/tools/workspace/seen-files.ts";
import { locate } from "../../../src/tools/workspace/workspace-path.ts";
import { success, type ToolResult } from "../../../src/tools/runtime/result.ts";
import { defineTool } from "../../../src/tools/runtime/tool.ts";
import { applyChanges } from "./apply-changes.ts";
import { readText } from "./deck-file.ts";
import { changesPath } from "../../../src/tools/workspace/file-checks.ts";

const Change = z.object({
  find: z.string().min(1).describe("the text as it stands in the file, whole lines, in exactly one place"),
  replace: z.string().describe("what stands there afterwards; empty to remove it"),
});

/** Changes parts of a file, all or none. */
export const patchFile = defineTool({
  name: "patch_file",
  description:
    "Changes parts of a text file of the workspace: each text of the list must be in the file exactly once and is replaced. If one " +
    "of them is not, nothing is changed. Use rewrite_file to write a file anew.",
  schema: z.object({
    path: z.string().describe("path of the file, relative to the workspace"),
    changes: z.array(Change).min(1).max(100).describe("the changes, each with what is found and what replaces it"),
  }),
  ...changesPath("follow"),
  kinds: ["SimpleModify", "IrreversibleOperation", "ModifyCriticalFile"],
  operation: ({ path, changes }, context) =>
    editOperation(path, context, async () => applyChanges(await readText(context, path), changes, path)),
  run: async ({ path, changes }, context) => {
    const before = await readText(context, path);
    const after = applyChanges(before, changes, path);
    if (after === before) {
      throw new AppError("invalid_parameter", `The changes leave "${path}" as it is.`, {
        suggestion: "Give another text to replace with.",
      });
    }
    const place = await locate(context.workspace, path);
    await replaceFile(context, place, after);
    return patched(place.path, changes.length);
  },
  textAfter: async ({ path, changes }, context) => applyChanges(await readText(context, path), changes, path),
  // The original content is no longer known, only whether it is unchanged.
  reconcile: ({ path, changes }, context) =>
    reconcileWrite(
      context,
      { path, lastLink: "follow" },
      { isDone: () => false, result: () => patched(path, changes.length) },
    ),
  example: {
    title: "Another resistor",
    body: '{"path": "amp.cir", "changes": [{"find": "R1 in out 1k", "replace": "R1 in out 2.2k"}]}',
  },
  guideline: "Read the file first, and copy what is to be found from it.",
});

function patched(path: string, count: number): ToolResult {
  return success(`Changed ${path} (${count} ${count === 1 ? "place" : "places"}).`, {
    data: { path, changes: count },
    message_zh: `已修改 ${path}（${count} 处）。`,
  });
}
