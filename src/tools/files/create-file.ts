import { z } from "zod";
import { AppError } from "@millrace/engine/errors/errors";
import { defineTool } from "../runtime/tool.ts";
import { wroteFile, reconcileContent, fileContent, holdsContent, textOfContent } from "../workspace/file-content.ts";
import { changesPath, isInCriticalFolder } from "../workspace/file-checks.ts";
import { writeNewFile } from "../workspace/file-access.ts";
import { locate, ownName, parsePath, type Place } from "../workspace/workspace-path.ts";

/** Creates a file with its folders; never overwrites. */
export const createFile = defineTool({
  name: "create_file",
  description:
    "Creates a new file in the workspace with the given content; missing folders are made. A path that ends in .docx becomes a " +
    "Word document, from HTML (best) or Markdown; every other file is text. Fails if anything of that name exists: use " +
    "update_file to replace a file.",
  schema: z.object({
    path: z.string().describe("path of the new file, relative to the workspace"),
    content: z.string().describe("the whole content of the file; HTML or Markdown for a Word document"),
  }),
  ...changesPath("keep"),
  textAfter: textOfContent,
  offered: { twinOf: "write_file" },
  kinds: ["Create", "ModifyCriticalFile"],
  operation: async (input) =>
    isInCriticalFolder(input.path) ? { type: "ModifyCriticalFile", path: input.path } : { type: "Create" },
  run: async (input, context) => {
    const place = await locate(context.workspace, input.path, "keep");
    ownName(context.workspace, place);
    if (place.kind !== "missing") {
      if (context.repeated && (await holdsContent(context, place, input.content)))
        return wroteFile("Created", place.path, input.content);
      throw exists(place);
    }
    const { content, note } = await fileContent(context, place, input.content);
    await writeNewFile(context, place, content);
    return wroteFile("Created", place.path, content, note);
  },
  reconcile: ({ path, content }, context) =>
    reconcileContent(context, { path, lastLink: "keep" }, content, {
      isBegun: ({ now }) => now.kind === "absent",
      result: () => wroteFile("Created", parsePath(path).join("/"), content),
    }),
  example: { title: "A note", body: '{"path": "notes/today.md", "content": "# Today\\n"}' },
});

function exists(place: Place): AppError {
  const suggestion =
    place.kind === "folder"
      ? "Give the path of a file in it, or another name."
      : "Use update_file to replace its content, or choose another name.";
  return new AppError("conflict", `"${place.path}" exists already${place.kind === "folder" ? " as a folder" : ""}.`, {
    suggestion,
  });
}
