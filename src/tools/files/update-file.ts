import { z } from "zod";
import { answering, success } from "../result.ts";
import { defineTool } from "../tool.ts";
import { replaceFile } from "./file-access.ts";
import { fileSeconds, leadsToCritical, look, writing } from "./looking.ts";
import { locate } from "./workspace-path.ts";

/** Replaces the whole content of an existing file in one step (DOC-02). */
export const updateFile = defineTool({
  name: "update_file",
  description:
    "Replaces the whole content of an existing text file of the workspace. Fails if the file does not exist: use " +
    "create_file for a new one.",
  schema: z.object({
    path: z.string().describe("path of the file, relative to the workspace"),
    content: z.string().describe("the new content of the whole file, not only the changed part"),
  }),
  effect: "idempotent",
  timeoutSeconds: fileSeconds,
  resources: (input, context) => [writing(context.workspace, input.path)],
  async operation(input, context) {
    const place = await look(context.workspace, input.path, "follow");
    if (!leadsToCritical(context.workspace, input.path, place)) return { type: "SimpleModify" };
    return { type: "ModifyCriticalFile", path: input.path };
  },
  run: (input, context) =>
    answering(async () => {
      const place = await locate(context.workspace, input.path);
      await replaceFile(context, place, input.content);
      const bytes = Buffer.byteLength(input.content);
      return success(`Updated ${place.path} (${bytes} bytes).`, { data: { path: place.path, bytes } });
    }),
  example: { title: "Replace a note", body: '{"path": "notes/today.md", "content": "# Today\\n\\nDone.\\n"}' },
  guideline: "Read the file first and send it back whole, with the change.",
});
