import { createHash } from "node:crypto";
import { z } from "zod";
import { expectedFailure, success, type ToolResult } from "../../../src/tools/runtime/result.ts";
import { defineTool, type Reconciled, type ToolContext } from "../../../src/tools/runtime/tool.ts";
import { replaceFile } from "../../../src/tools/workspace/file-access.ts";
import { reconcileWrite } from "../../../src/tools/workspace/reconcile.ts";
import { locate } from "../../../src/tools/workspace/workspace-path.ts";
import { type AppliedBlock, applyBlocks, linesHeldBy, readBlocks } from "./search-replace.ts";
import { wholeText } from "../../../src/tools/workspace/text-lines.ts";
import { changesPath } from "../../../src/tools/workspace/file-checks.ts";
import { editOperation } from "../../../src/tools/workspace/seen-files.ts";

const ReplaceInput = z.object({
  path: z.string().describe("path of the file, relative to the workspace"),
  diff: z
    .string()
    .min(1)
    .max(1_000_000)
    .describe(
      "one or more blocks in the order of the file, each: a line <<<<<<< SEARCH, the lines to find, a line =======, the new " +
        "lines (none: the found ones are deleted), a line >>>>>>> REPLACE",
    ),
});

/** Changes parts of a file by SEARCH/REPLACE blocks, all or none. */
export const replaceInFile = defineTool({
  name: "replace_in_file",
  description:
    "Changes parts of a text file by SEARCH/REPLACE blocks. The SEARCH lines must be whole lines of the file, exact to the " +
    "blank; the first place after the block before is replaced. When one block does not fit, nothing is changed and the " +
    "answer names the block and the nearest text. To move lines, delete them in one block and insert them in another.",
  schema: ReplaceInput,
  ...changesPath("follow"),
  offered: { twinOf: "edit_file" },
  kinds: ["SimpleModify", "IrreversibleOperation", "ModifyCriticalFile"],
  operation: (input, context) => editOperation(input.path, context, () => textAfter(input, context)),
  run: (input, context) => replace(input, context),
  textAfter,
  reconcile,
  example: {
    title: "Another limit",
    body: JSON.stringify({
      path: "src/limits.ts",
      diff: "<<<<<<< SEARCH\nconst most = 5;\n=======\nconst most = 10;\n>>>>>>> REPLACE\n",
    }),
  },
  guideline: "Read the file first. Search for just as many lines as say which place is meant.",
});

async function textAfter({ path, diff }: z.infer<typeof ReplaceInput>, context: ToolContext): Promise<string> {
  const before = await wholeText(context, await locate(context.workspace, path));
  return applyBlocks(before, readBlocks(diff, linesHeldBy(before))).text;
}

async function replace({ path, diff }: z.infer<typeof ReplaceInput>, context: ToolContext): Promise<ToolResult> {
  const place = await locate(context.workspace, path);
  const before = await wholeText(context, place);
  const blocks = readBlocks(diff, linesHeldBy(before));
  const { text, applied } = applyBlocks(before, blocks);
  if (text === before) {
    return success(`The blocks leave ${place.path} as it is.`, {
      data: { path: place.path, blocks: applied },
      message_zh: `${place.path} 没有变化。`,
    });
  }
  await replaceFile(context, place, text);
  return changed(place.path, applied);
}

function changed(path: string, applied: readonly AppliedBlock[]): ToolResult {
  const count = applied.length === 1 ? "1 block" : `${applied.length} blocks`;
  const further = applied
    .filter(({ also }) => also.length > 0)
    .map(
      ({ block, line, also }) =>
        `Block ${block} was applied at line ${line}; the same lines stand at line ${also.join(", ")} too and were left ` +
        "as they are. If another place was meant, undo it and search for more lines around it.",
    );
  const message = `Changed ${path} (${count}).`;
  return success(message, {
    content: [message, ...further].join("\n"),
    data: { path, blocks: applied },
    message_zh: `已修改 ${path}（${applied.length} 处）。`,
  });
}

/** The change was applied if reverting it gives exactly the original bytes. */
async function reconcile({ path, diff }: z.infer<typeof ReplaceInput>, context: ToolContext): Promise<Reconciled> {
  const found = await taken(path, diff, context);
  return reconcileWrite(
    context,
    { path, lastLink: "follow" },
    {
      isDone: ({ before }) => found !== undefined && before?.kind === "file" && before.hash === found.hashBefore,
      result: () => changed(path, found?.applied ?? []),
    },
  );
}

async function taken(
  path: string,
  diff: string,
  context: ToolContext,
): Promise<{ hashBefore: string; applied: AppliedBlock[] } | undefined> {
  try {
    const now = await wholeText(context, await locate(context.workspace, path));
    const back = readBlocks(diff, () => true).map(({ number, search, replace: put }) => ({
      number,
      search: put,
      replace: search,
    }));
    const { text } = applyBlocks(now, back);
    return {
      hashBefore: createHash("sha256").update(text).digest("hex"),
      applied: applyBlocks(
        text,
        back.map(({ number, search, replace: put }) => ({ number, search: put, replace: search })),
      ).applied,
    };
  } catch (error) {
    if (expectedFailure(error) === undefined) throw error;
    return undefined;
  }
}
