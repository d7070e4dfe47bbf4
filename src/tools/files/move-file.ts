import { z } from "zod";
import { answering, success } from "../runtime/result.ts";
import { defineTool, type ToolResult } from "../runtime/tool.ts";
import { fileSeconds, writing } from "./looking.ts";
import { moveEntry, moveOperation } from "./move-entry.ts";
import { reconcileMove } from "./reconcile.ts";
import { parsePath } from "./workspace-path.ts";

/** Moves a file or folder to another path and never replaces anything. */
export const moveFile = defineTool({
  name: "move_file",
  description:
    "Moves a file or folder of the workspace to another path; missing folders are made. Fails if the destination " +
    "exists. The destination is the whole new path, with the name.",
  schema: z.object({
    source: z.string().describe("path of the file or folder, relative to the workspace"),
    destination: z.string().describe("the whole new path, relative to the workspace"),
  }),
  effect: "reconcilable",
  timeoutSeconds: fileSeconds,
  resources: (input, context) => [
    writing(context.workspace, input.source),
    writing(context.workspace, input.destination),
  ],
  kinds: ["SimpleModify", "IrreversibleOperation", "ModifyCriticalFile"],
  operation: (input, context) => moveOperation(context.workspace, input.source, input.destination),
  run: (input, context) =>
    answering(async () => {
      const [from, to] = await moveEntry(context, input.source, input.destination);
      return moved(from.path, to.path);
    }),
  touches: ({ source, destination }) => ({ kind: "move", from: source, to: destination }),
  reconcile: ({ source, destination }, context) =>
    reconcileMove(context, () => moved(parsePath(source).join("/"), parsePath(destination).join("/"))),
  example: { title: "Into a folder", body: '{"source": "draft.md", "destination": "texts/draft.md"}' },
});

function moved(source: string, destination: string): ToolResult {
  return success(`Moved ${source} to ${destination}.`, { data: { source, destination } });
}
