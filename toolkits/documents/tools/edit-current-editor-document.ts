import { z } from "zod";
import { AppError, isAppError } from "@millrace/engine/errors/errors";
import { applyEdits, Edits } from "../../../src/tools/files/apply-edits.ts";
import { diffLines, nearChanges, type DiffLine } from "../../../src/tools/undo/line-diff.ts";
import { success, type ToolResult } from "../../../src/tools/runtime/result.ts";
import { defineTool, type EditorBuffer, type ToolContext } from "../../../src/tools/runtime/tool.ts";

/** Maximum characters of the text for an editor. */
const maxTextLength = 1_000_000;
/** Maximum diff lines in the event and in the question. */
const [eventLines, previewLines] = [400, 20];
/** Context lines of a diff. */
const contextLines = 3;

const EditInput = z
  .object({
    edits: Edits.optional().describe("the changes by search and replace, as in edit_file"),
    content: z
      .string()
      .max(maxTextLength)
      .optional()
      .describe("in place of edits: the new text of the whole document, not only the changed part"),
    instruction: z.string().max(2000).optional().describe("what the change is for, in a few words, for the user"),
  })
  .refine(({ edits, content }) => (edits === undefined) !== (content === undefined), {
    error: "expected either edits or content",
  });
type EditInput = z.infer<typeof EditInput>;

/** Edits the document open in the client's editor, not a file: the client gets the new text. */
export const editCurrentEditorDocument = defineTool({
  name: "edit_current_editor_document",
  description:
    "Changes the document that is open in the user's editor by search and replace (`edits`, as in edit_file), or gives it a new " +
    "text (`content`). The file on disk stays as it is until the user saves. The user is asked first. Use edit_file for files that " +
    "are not open.",
  schema: EditInput,
  // Repeating it sends the same text.
  effect: "idempotent",
  timeoutSeconds: 5,
  resources: (_, { sessionId }) => [`editor:${sessionId}`],
  kinds: ["Query", "EditDocument"],
  offered: { needs: "open_document" },
  async operation(input, { conversation: { document } }) {
    if (document === undefined || !document.isEditable) return { type: "Query" };
    const before = await document.text();
    const after = wouldBe(before, input);
    if (before === after) return { type: "Query" };
    const { lines, added, removed } = difference(before, after);
    const shown = lines.slice(0, previewLines).map(({ kind, text }) => `${signs[kind]}${text}`);
    const more = lines.length - shown.length;
    const preview = [...shown, ...(more > 0 ? [`[${more} further lines]`] : [])].join("\n");
    return { type: "EditDocument", path: document.path, lines_added: added, lines_removed: removed, preview };
  },
  run: (input, context) => edit(input, context),
  touches: () => ({ kind: "document" }),
  example: { title: "A new ending", body: '{"edits": [{"old_string": "See you.", "new_string": "See you soon."}]}' },
  guideline: "Read what is not shown with read_editor_document first, and change no more than the user asked for.",
});

const signs: Record<DiffLine["kind"], string> = { same: " ", removed: "-", added: "+" };

/** The text after the change. Throws what `applyEdits` throws, and `too_large`. */
function afterChange(before: string, { edits, content }: EditInput): string {
  const after = edits === undefined ? (content ?? before) : applyEdits(before, edits).text;
  if (after.length <= maxTextLength) return after;
  throw new AppError("too_large", `The document would have ${after.length} characters; ${maxTextLength} are taken.`);
}

/** The text that a call would produce, for the question; a call it would refuse changes nothing. */
function wouldBe(before: string, input: EditInput): string {
  try {
    return afterChange(before, input);
  } catch (error) {
    if (isAppError(error)) return before;
    throw error;
  }
}

async function edit(input: EditInput, context: ToolContext): Promise<ToolResult> {
  const document = requireDocument(context.conversation.document);
  if (!document.isEditable) {
    throw new AppError("permission", `"${document.path}" cannot be changed in the editor: it is read-only there.`, {
      suggestion: "Tell the user, who may allow it.",
    });
  }
  const before = await document.text();
  const content = afterChange(before, input);
  const { path } = document;
  const name = path === "" ? "the open document" : path;
  const name_zh = path === "" ? "打开的文档" : path;
  if (before === content) {
    return success(`Nothing changed: ${name} has this text already.`, {
      data: { path },
      message_zh: `${name_zh} 没有变化。`,
    });
  }
  const { lines, added, removed, first } = difference(before, content);
  const editorEvent = {
    path,
    instruction: input.instruction ?? null,
    content,
    lines_added: added,
    lines_removed: removed,
    first_line: first,
    diff: lines.slice(0, eventLines),
    more: Math.max(0, lines.length - eventLines),
  };
  const message = `Changed ${name} in the editor (+${added}, -${removed} lines). The file on disk is as it was.`;
  const data = { path, lines_added: added, lines_removed: removed };
  const message_zh = `已在编辑器中修改 ${name_zh}（+${added}，-${removed} 行），磁盘上的文件未变。`;
  return { ...success(message, { data, message_zh }), document: editorEvent };
}

/** The document in the editor. Throws `invalid_state` if there is none. */
export function requireDocument(document: EditorBuffer | undefined): EditorBuffer {
  if (document === undefined) {
    throw new AppError(
      "invalid_state",
      "No document is open in the user's editor, or its text did not come with the request.",
      { suggestion: "Use read_file and edit_file for files, or ask the user to open the document." },
    );
  }
  return document;
}

function difference(
  before: string,
  after: string,
): { lines: DiffLine[]; added: number; removed: number; first: number | null } {
  const all = diffLines(before, after);
  const changed = all.filter(({ kind }) => kind !== "same");
  return {
    lines: nearChanges(all, contextLines),
    added: changed.filter(({ kind }) => kind === "added").length,
    removed: changed.filter(({ kind }) => kind === "removed").length,
    first: changed[0]?.new_line ?? changed[0]?.old_line ?? null,
  };
}
