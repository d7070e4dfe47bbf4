import { z } from "zod";
import { AppError } from "../../errors.ts";
import { answering, success } from "../result.ts";
import { defineTool, type ToolContext, type ToolResult } from "../tool.ts";
import { isInCriticalFolder } from "./critical-file.ts";
import { withFile, writeNewFile } from "./file-access.ts";
import { fileSeconds, writing } from "./looking.ts";
import { holdsText, reconcileWrite } from "./reconcile.ts";
import { locate, ownName, parsePath, type Place } from "./workspace-path.ts";

/** Makes a new file with its folders and never touches an existing one (DOC-02). */
export const createFile = defineTool({
  name: "create_file",
  description:
    "Creates a new text file in the workspace with the given content; missing folders are made. Fails if anything of " +
    "that name exists: use update_file to replace a file.",
  schema: z.object({
    path: z.string().describe("path of the new file, relative to the workspace"),
    content: z.string().describe("the whole content of the file"),
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
      if (place.kind === "missing") await writeNewFile(context, place, input.content);
      else if (!context.repeated || !(await holds(context, place, input.content))) throw exists(place);
      return created(place.path, input.content);
    }),
  touches: ({ path }) => ({ kind: "write", path, lastLink: "keep" }),
  reconcile: ({ path, content }, context) =>
    reconcileWrite(
      context,
      { path, lastLink: "keep" },
      {
        isDone: ({ now }) => holdsText(now, content),
        isBegun: ({ now }) => now.kind === "absent",
        result: () => created(parsePath(path).join("/"), content),
      },
    ),
  example: { title: "A note", body: '{"path": "notes/today.md", "content": "# Today\\n"}' },
});

function created(path: string, content: string): ToolResult {
  const bytes = Buffer.byteLength(content);
  return success(`Created ${path} (${bytes} bytes).`, { data: { path, bytes } });
}

async function holds(context: ToolContext, place: Place, content: string): Promise<boolean> {
  if (place.kind !== "file") return false;
  return withFile(context, place, async (handle, stats) => {
    return stats.size === Buffer.byteLength(content) && (await handle.readFile("utf8")) === content;
  });
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
