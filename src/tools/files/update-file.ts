import { z } from "zod";
import { fileContent, isWritten } from "../documents/file-content.ts";
import { answering, success } from "../runtime/result.ts";
import { defineTool, type ToolResult } from "../runtime/tool.ts";
import { replaceFile, requireFile } from "../workspace/file-access.ts";
import { fileSeconds, leadsToCritical, look, writing } from "../workspace/file-checks.ts";
import { reconcileWrite } from "../workspace/reconcile.ts";
import { locate, parsePath } from "../workspace/workspace-path.ts";

/** Replaces the whole content of an existing file in one step. */
export const updateFile = defineTool({
  name: "update_file",
  description:
    "Replaces the whole content of an existing file of the workspace. A Word document (.docx) is made anew from HTML (best) or " +
    "Markdown; every other file is text. Fails if the file does not exist: use create_file for a new one.",
  schema: z.object({
    path: z.string().describe("path of the file, relative to the workspace"),
    content: z.string().describe("the new content of the whole file, not only the changed part"),
  }),
  effect: "reconcilable",
  timeoutSeconds: fileSeconds,
  resources: (input, context) => [writing(context.workspace, input.path)],
  kinds: ["SimpleModify", "ModifyCriticalFile"],
  async operation(input, context) {
    const place = await look(context.workspace, input.path, "follow");
    if (!leadsToCritical(context.workspace, input.path, place)) return { type: "SimpleModify" };
    return { type: "ModifyCriticalFile", path: input.path };
  },
  run: (input, context) =>
    answering(async () => {
      const place = await locate(context.workspace, input.path);
      await requireFile(context, place);
      const { content, told } = await fileContent(place, input.content, context.signal);
      await replaceFile(context, place, content);
      return updated(place.path, content, told);
    }),
  touches: ({ path }) => ({ kind: "write", path, lastLink: "follow" }),
  // What a person has written between a crash and the restart is not replaced.
  reconcile: async ({ path, content }, context) => {
    const isDone = await isWritten(context, { path, lastLink: "follow" }, content);
    return reconcileWrite(
      context,
      { path, lastLink: "follow" },
      { isDone: ({ now }) => isDone(now), result: () => updated(parsePath(path).join("/"), content) },
    );
  },
  example: { title: "Replace a note", body: '{"path": "notes/today.md", "content": "# Today\\n\\nDone.\\n"}' },
  guideline: "Read the file first and send it back whole, with the change.",
});

function updated(path: string, content: string | Uint8Array, told = ""): ToolResult {
  const bytes = Buffer.byteLength(content);
  return success(`Updated ${path} (${bytes} bytes)${told}.`, { data: { path, bytes } });
}
