import { z } from "zod";
import { wroteFile, reconcileContent, fileContent, textOfContent } from "../workspace/file-content.ts";
import { defineTool } from "../runtime/tool.ts";
import { replaceFile, requireFile } from "../workspace/file-access.ts";
import { locate, parsePath } from "../workspace/workspace-path.ts";
import { changesPath } from "../workspace/file-checks.ts";
import { writeOperation } from "../workspace/seen-files.ts";

/** Replaces an existing file's content atomically. */
export const updateFile = defineTool({
  name: "update_file",
  description:
    "Replaces the whole content of an existing file of the workspace. A Word document (.docx) is made anew from HTML (best) or " +
    "Markdown; every other file is text. Fails if the file does not exist: use create_file for a new one.",
  schema: z.object({
    path: z.string().describe("path of the file, relative to the workspace"),
    content: z.string().describe("the new content of the whole file, not only the changed part"),
  }),
  ...changesPath("follow"),
  offered: { twinOf: "write_file" },
  overwrites: ({ path, content }) => ({ path, content }),
  textAfter: textOfContent,
  kinds: ["Create", "SimpleModify", "ModifyCriticalFile", "IrreversibleOperation"],
  operation: writeOperation,
  run: async (input, context) => {
    const place = await locate(context.workspace, input.path);
    await requireFile(context, place);
    const { content, note } = await fileContent(context, place, input.content);
    await replaceFile(context, place, content);
    return wroteFile("Updated", place.path, content, note);
  },
  // Changes made by a person between crash and restart are not overwritten.
  reconcile: ({ path, content }, context) =>
    reconcileContent(context, { path, lastLink: "follow" }, content, {
      result: () => wroteFile("Updated", parsePath(path).join("/"), content),
    }),
  example: { title: "Replace a note", body: '{"path": "notes/today.md", "content": "# Today\\n\\nDone.\\n"}' },
  guideline: "Read the file first and send it back whole, with the change.",
});
