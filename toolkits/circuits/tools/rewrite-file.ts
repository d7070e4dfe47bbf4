import { z } from "zod";
import { holdsText, reconcileWrite } from "../../../src/tools/workspace/reconcile.ts";
import { parsePath } from "../../../src/tools/workspace/workspace-path.ts";
import { success, type ToolResult } from "../../../src/tools/runtime/result.ts";
import { defineTool } from "../../../src/tools/runtime/tool.ts";
import { writeText } from "./write-text.ts";
import { seenWhole, writeOperation } from "../../../src/tools/workspace/seen-files.ts";
import { changesPath } from "../../../src/tools/workspace/file-checks.ts";

/** Writes a whole file, new or existing. */
export const rewriteFile = defineTool({
  name: "rewrite_file",
  description:
    "Writes a whole text file of the workspace anew, such as a netlist, whether it is there or not. Use patch_file to change a few " +
    "lines of a file.",
  schema: z.object({
    path: z.string().describe("path of the file, relative to the workspace"),
    content: z.string().describe("the whole content of the file"),
  }),
  ...changesPath("follow"),
  overwrites: ({ path, content }) => ({ path, content }),
  textAfter: async ({ content }) => content,
  kinds: ["Create", "SimpleModify", "ModifyCriticalFile", "IrreversibleOperation"],
  operation: writeOperation,
  run: async ({ path, content }, context) => {
    const written = await writeText(context, path, content);
    return { ...rewritten(written, content), seen: seenWhole(written, content) };
  },
  reconcile: ({ path, content }, context) =>
    reconcileWrite(
      context,
      { path, lastLink: "follow" },
      { isDone: ({ now }) => holdsText(now, content), result: () => rewritten(parsePath(path).join("/"), content) },
    ),
  example: {
    title: "A divider",
    body: '{"path": "divider.cir", "content": "Divider\\nV1 in 0 5\\nR1 in out 1k\\nR2 out 0 1k\\n.op\\n.end\\n"}',
  },
});

function rewritten(path: string, content: string): ToolResult {
  const lines = content.split("\n").length - (content.endsWith("\n") ? 1 : 0);
  return success(`Wrote ${path} (${lines} ${lines === 1 ? "line" : "lines"}).`, {
    data: { path, lines },
    message_zh: `已写入 ${path}（${lines} 行）。`,
  });
}
