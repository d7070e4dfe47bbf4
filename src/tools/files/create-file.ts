import { z } from "zod";
import { AppError } from "@millrace/engine/errors/errors";
import { fileContent, holdsContent, isWritten } from "../documents/file-content.ts";
import { answering, success } from "../runtime/result.ts";
import { defineTool, type ToolResult } from "../runtime/tool.ts";
import { fileSeconds, isInCriticalFolder, writing } from "../workspace/file-checks.ts";
import { writeNewFile } from "../workspace/file-access.ts";
import { reconcileWrite } from "../workspace/reconcile.ts";
import { locate, ownName, parsePath, type Place } from "../workspace/workspace-path.ts";

/** Makes a new file with its folders and never touches an existing one. */
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
  // Repeated after a crash it finds its own file, knows it by its content and leaves it alone.
  effect: "reconcilable",
  timeoutSeconds: fileSeconds,
  resources: (input, context) => [writing(context.workspace, input.path)],
  kinds: ["Create", "ModifyCriticalFile"],
  operation: async (input) =>
    isInCriticalFolder(input.path) ? { type: "ModifyCriticalFile", path: input.path } : { type: "Create" },
  run: (input, context) =>
    answering(async () => {
      const place = await locate(context.workspace, input.path, "keep");
      ownName(context.workspace, place);
      if (place.kind !== "missing") {
        if (context.repeated && (await holdsContent(context, place, input.content)))
          return created(place.path, input.content);
        throw exists(place);
      }
      const { content, told } = await fileContent(place, input.content, context.signal);
      await writeNewFile(context, place, content);
      return created(place.path, content, told);
    }),
  touches: ({ path }) => ({ kind: "write", path, lastLink: "keep" }),
  reconcile: async ({ path, content }, context) => {
    const isDone = await isWritten(context, { path, lastLink: "keep" }, content);
    return reconcileWrite(
      context,
      { path, lastLink: "keep" },
      {
        isDone: ({ now }) => isDone(now),
        isBegun: ({ now }) => now.kind === "absent",
        result: () => created(parsePath(path).join("/"), content),
      },
    );
  },
  example: { title: "A note", body: '{"path": "notes/today.md", "content": "# Today\\n"}' },
});

function created(path: string, content: string | Uint8Array, told = ""): ToolResult {
  const bytes = Buffer.byteLength(content);
  return success(`Created ${path} (${bytes} bytes)${told}.`, { data: { path, bytes } });
}

function exists(place: Place): AppError {
  const suggestion =
    place.kind === "folder"
      ? "Give the path of a file in it, or another name."
      : "Use update_file to replace its content, or choose another name.";
  return new AppError("conflict", `"${place.path}" exists already${place.kind === "folder" ? " as a folder" : ""}.`, {
    suggestion,
  });
}
