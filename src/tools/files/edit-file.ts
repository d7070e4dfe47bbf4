import { createHash } from "node:crypto";
import { z } from "zod";
import { expectedFailure, success, type ToolResult } from "../runtime/result.ts";
import { defineTool, type Reconciled, type ToolContext } from "../runtime/tool.ts";
import { replaceFile } from "../workspace/file-access.ts";
import { changesPath } from "../workspace/file-checks.ts";
import { requireSaved } from "../workspace/editor-text.ts";
import { editFormat, type EditedFile, isFormatted } from "../workspace/file-formats.ts";
import { reconcileWrite } from "../workspace/reconcile.ts";
import { editOperation } from "../workspace/seen-files.ts";
import { wholeText } from "../workspace/text-lines.ts";
import { locate, parsePath, type Place } from "../workspace/workspace-path.ts";
import { type Edit, Edits, applyEdits } from "./apply-edits.ts";

const EditInput = z.object({
  path: z.string().describe("path of the file, relative to the workspace"),
  edits: Edits,
});
type EditInput = z.infer<typeof EditInput>;

/** Replaces parts of a text file; applies all edits or none. */
export const editFile = defineTool({
  name: "edit_file",
  description:
    "Changes parts of a text file by search and replace, several at once: all of them, or nothing. Each old_string has to stand " +
    "in the file exactly once (take in the lines around it), unless replace_all is set. When one is not found, the answer shows " +
    "the nearest text. In a Word document (.docx) lines are paragraphs and rows of tables, which may come and go; its look stays.",
  schema: EditInput,
  ...changesPath("follow"),
  kinds: ["SimpleModify", "IrreversibleOperation", "ModifyCriticalFile"],
  operation: (input, context) => editOperation(input.path, context, () => textAfter(input, context)),
  run: (input, context) => edit(input, context),
  textAfter,
  reconcile,
  example: {
    title: "Another limit",
    body: '{"path": "src/limits.ts", "edits": [{"old_string": "const most = 5;", "new_string": "const most = 10;"}]}',
  },
  guideline: "Read the lines that you change first, and copy old_string from them.",
});

async function textAfter({ path, edits }: EditInput, context: ToolContext): Promise<string | undefined> {
  if (isFormatted(path, context.toolkitServices)) return undefined;
  return applyEdits(await wholeText(context, await locate(context.workspace, path)), edits).text;
}

async function edit({ path, edits }: EditInput, context: ToolContext): Promise<ToolResult> {
  await requireSaved(context, path);
  const place = await locate(context.workspace, path);
  const { content, count, ...notes } =
    (await editFormat(context, place, edits)) ?? (await editText(context, place, edits));
  if (content === undefined)
    return success(`The edits leave ${place.path} as it is${notes.note}.`, {
      data: { path: place.path, replaced: 0 },
      message_zh: `${place.path} 没有变化${notes.note_zh}。`,
    });
  await replaceFile(context, place, content);
  return edited(place.path, count, notes);
}

async function editText(context: ToolContext, place: Place, edits: readonly Edit[]): Promise<EditedFile> {
  const before = await wholeText(context, place);
  const { text, count } = applyEdits(before, edits);
  return { content: text === before ? undefined : text, count, ...noNotes };
}

const noNotes = { note: "", note_zh: "" };

function edited(path: string, count: number, { note, note_zh } = noNotes): ToolResult {
  return success(`Changed ${path} (${count} ${count === 1 ? "place" : "places"})${note}.`, {
    data: { path, replaced: count },
    message_zh: `已修改 ${path}（${count} 处）${note_zh}。`,
  });
}

/** The edit was applied if reversing it on the present content gives the content stored for undo. */
async function reconcile({ path, edits }: EditInput, context: ToolContext): Promise<Reconciled> {
  const back = await reversed(path, edits, context);
  return reconcileWrite(
    context,
    { path, lastLink: "follow" },
    {
      isDone: ({ before }) => back !== undefined && before?.kind === "file" && before.hash === back.hash,
      result: () => edited(parsePath(path).join("/"), back?.count ?? 0),
    },
  );
}

/** The hash of the content before the edits, if they can be reversed unambiguously. */
async function reversed(
  path: string,
  edits: readonly Edit[],
  context: ToolContext,
): Promise<{ hash: string; count: number } | undefined> {
  const swapped = edits.toReversed().map(({ old_string, new_string, replace_all }) => ({
    old_string: new_string,
    new_string: old_string,
    replace_all,
  }));
  if (swapped.some(({ old_string }) => old_string === "")) return undefined;
  try {
    const { text, count } = applyEdits(await wholeText(context, await locate(context.workspace, path)), swapped);
    return { hash: createHash("sha256").update(text).digest("hex"), count };
  } catch (error) {
    if (expectedFailure(error) === undefined) throw error;
    return undefined;
  }
}
