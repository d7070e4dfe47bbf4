import { z } from "zod";
import { wroteFile, reconcileContent, fileContent } from "../../../src/tools/documents/file-content.ts";
import { defineTool, type ToolContext } from "../../../src/tools/runtime/tool.ts";
import { changesPath, isInCriticalFolder, leadsToCritical, look } from "../../../src/tools/workspace/file-checks.ts";
import { replaceFile, writeNewFile } from "../../../src/tools/workspace/file-access.ts";
import { locate, ownName, parsePath } from "../../../src/tools/workspace/workspace-path.ts";
import type { ToolResult } from "../../../src/tools/runtime/result.ts";

const WriteInput = z.object({
  path: z.string().describe("path of the file, relative to the workspace"),
  content: z.string().describe("the whole content of the file"),
});

/** Writes a whole file, whether or not it is there already. */
export const writeToFile = defineTool({
  name: "write_to_file",
  description:
    "Writes a text file whole: a new one with its missing folders, or in place of the one that is there. To change parts of " +
    "a file use replace_in_file.",
  schema: WriteInput,
  ...changesPath("follow"),
  kinds: ["Create", "SimpleModify", "ModifyCriticalFile"],
  async operation({ path }, { workspace }) {
    const place = await look(workspace, path, "follow");
    const isNew = typeof place !== "string" && place.kind === "missing";
    if (isNew && !isInCriticalFolder(path)) return { type: "Create" };
    return leadsToCritical(workspace, path, place) ? { type: "ModifyCriticalFile", path } : { type: "SimpleModify" };
  },
  run: (input, context) => write(input, context),
  reconcile: ({ path, content }, context) =>
    reconcileContent(context, { path, lastLink: "follow" }, content, {
      result: () => wroteFile("Wrote", parsePath(path).join("/"), content),
    }),
  example: {
    title: "A page",
    body: '{"path": "site/index.html", "content": "<!doctype html>\\n<title>Hello</title>\\n"}',
  },
});

async function write({ path, content }: z.infer<typeof WriteInput>, context: ToolContext): Promise<ToolResult> {
  const place = await locate(context.workspace, path);
  ownName(context.workspace, place);
  const made = await fileContent(place, content, context.signal);
  if (place.kind === "missing") await writeNewFile(context, place, made.content);
  else await replaceFile(context, place, made.content);
  return wroteFile("Wrote", place.path, made.content, made.told);
}
