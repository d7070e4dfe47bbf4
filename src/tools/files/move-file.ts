import { z } from "zod";
import { answering, success } from "../result.ts";
import { defineTool } from "../tool.ts";
import { fileSeconds, writing } from "./looking.ts";
import { moveEntry, moveOperation } from "./move-entry.ts";

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
  effect: "idempotent",
  timeoutSeconds: fileSeconds,
  resources: (input, context) => [
    writing(context.workspace, input.source),
    writing(context.workspace, input.destination),
  ],
  operation: (input, context) => moveOperation(context.workspace, input.source, input.destination),
  run: (input, context) =>
    answering(async () => {
      const [from, to] = await moveEntry(context, input.source, input.destination);
      return success(`Moved ${from.path} to ${to.path}.`, { data: { source: from.path, destination: to.path } });
    }),
  example: { title: "Into a folder", body: '{"source": "draft.md", "destination": "texts/draft.md"}' },
});
