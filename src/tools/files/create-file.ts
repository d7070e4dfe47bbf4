import { z } from "zod";
import { AppError } from "../../errors.ts";
import { answering, success } from "../result.ts";
import { defineTool, type ToolContext } from "../tool.ts";
import { isInCriticalFolder } from "./critical-file.ts";
import { withFile, writeNewFile } from "./file-access.ts";
import { fileSeconds, writing } from "./looking.ts";
import { locate, ownName, type Place } from "./workspace-path.ts";

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
  effect: "idempotent",
  timeoutSeconds: fileSeconds,
  resources: (input, context) => [writing(context.workspace, input.path)],
  operation: async (input) =>
    isInCriticalFolder(input.path) ? { type: "ModifyCriticalFile", path: input.path } : { type: "Create" },
  run: (input, context) =>
    answering(async () => {
      const place = await locate(context.workspace, input.path, "keep");
      ownName(context.workspace, place);
      const bytes = Buffer.byteLength(input.content);
      if (place.kind === "missing") await writeNewFile(context, place, input.content);
      else if (!context.repeated || !(await holds(context, place, input.content))) throw exists(place);
      return success(`Created ${place.path} (${bytes} bytes).`, { data: { path: place.path, bytes } });
    }),
  example: { title: "A note", body: '{"path": "notes/today.md", "content": "# Today\\n"}' },
});

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
