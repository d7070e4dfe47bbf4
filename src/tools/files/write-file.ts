import { z } from "zod";
import { fileContent, reconcileContent, textOfContent, wroteFile } from "../workspace/file-content.ts";
import type { ToolResult } from "../runtime/result.ts";
import { defineTool, type ToolContext } from "../runtime/tool.ts";
import { replaceFile, writeNewFile } from "../workspace/file-access.ts";
import { changesPath } from "../workspace/file-checks.ts";
import { writeOperation } from "../workspace/seen-files.ts";
import { locate, ownName, parsePath } from "../workspace/workspace-path.ts";

const WriteInput = z.object({
  path: z.string().describe("path of the file, relative to the workspace"),
  content: z.string().describe("the whole content of the file; HTML or Markdown for a Word document"),
});

/** Creates or replaces a file. */
export const writeFile = defineTool({
  name: "write_file",
  description:
    "Writes a whole file: a new one with its missing folders, or in place of one that you have read whole in this " +
    "conversation. A path that ends in .docx becomes a Word document, from HTML (best) or Markdown; every other file is text. " +
    "Use edit_file to change parts of a file.",
  schema: WriteInput,
  ...changesPath("follow"),
  overwrites: ({ path, content }) => ({ path, content }),
  textAfter: textOfContent,
  kinds: ["Create", "SimpleModify", "ModifyCriticalFile", "IrreversibleOperation"],
  operation: writeOperation,
  run: (input, context) => write(input, context),
  reconcile: ({ path, content }, context) =>
    reconcileContent(context, { path, lastLink: "follow" }, content, {
      result: () => wroteFile("Wrote", parsePath(path).join("/"), content),
    }),
  example: { title: "A note", body: '{"path": "notes/today.md", "content": "# Today\\n"}' },
});

async function write({ path, content }: z.infer<typeof WriteInput>, context: ToolContext): Promise<ToolResult> {
  const place = await locate(context.workspace, path);
  ownName(context.workspace, place);
  const made = await fileContent(context, place, content);
  if (place.kind === "missing") await writeNewFile(context, place, made.content);
  else await replaceFile(context, place, made.content);
  return wroteFile("Wrote", place.path, made.content, made.note);
}
