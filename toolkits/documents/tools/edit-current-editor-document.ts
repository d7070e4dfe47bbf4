import { z } from "zod";
import { AppError } from "@millrace/engine/errors/errors";
import { diffLines, nearChanges, type DiffLine } from "../../../src/tools/undo/line-diff.ts";
import { success, type ToolResult } from "../../../src/tools/runtime/result.ts";
import { defineTool, type EditorBuffer, type ToolContext } from "../../../src/tools/runtime/tool.ts";

/** Characters of the text that the tool can give an editor. */
const longestText = 1_000_000;
/** Lines of the difference that the event has, and that the question shows. */
const [toldLines, previewLines] = [400, 20];
/** Lines around a difference that are shown with it. */
const contextLines = 3;

const EditInput = z.object({
  content: z.string().max(longestText).describe("the new text of the whole document, not only the changed part"),
  instruction: z.string().max(2000).optional().describe("what the change is for, in a few words, for the user"),
});

/** Changes the document that is open in the client's editor, not a file: the client is told the new text. */
export const editCurrentEditorDocument = defineTool({
  name: "edit_current_editor_document",
  description:
    "Changes the document that is open in the user's editor: give its whole new text. The file on disk stays as it is until " +
    "the user saves. The user is asked first. Use edit_file for files that are not open.",
  schema: EditInput,
  // A second time it tells the same text.
  effect: "idempotent",
  timeoutSeconds: 5,
  resources: (_, { sessionId }) => [`editor:${sessionId}`],
  kinds: ["Query", "EditDocument"],
  offered: { needs: "open_document" },
  async operation({ content }, { conversation: { document } }) {
    if (document === undefined || !document.isEditable) return { type: "Query" };
    const before = await document.text();
    if (before === content) return { type: "Query" };
    const { lines, added, removed } = difference(before, content);
    const shown = lines.slice(0, previewLines).map(({ kind, text }) => `${signs[kind]}${text}`);
    const more = lines.length - shown.length;
    const preview = [...shown, ...(more > 0 ? [`[${more} further lines]`] : [])].join("\n");
    return { type: "EditDocument", path: document.path, lines_added: added, lines_removed: removed, preview };
  },
  run: (input, context) => edit(input, context),
  touches: ({ content }) => ({ kind: "document", content }),
  example: { title: "A new ending", body: '{"content": "# Letter\\n\\nDear all,\\n\\nSee you soon.\\n"}' },
  guideline: "Keep what the user did not ask to change as it is, to the letter.",
});

const signs: Record<DiffLine["kind"], string> = { same: " ", removed: "-", added: "+" };

async function edit({ content, instruction }: z.infer<typeof EditInput>, context: ToolContext): Promise<ToolResult> {
  const document = requireDocument(context.conversation.document);
  const before = await document.text();
  const { path } = document;
  const name = path === "" ? "the open document" : path;
  if (before === content) return success(`Nothing changed: ${name} has this text already.`, { data: { path } });
  const { lines, added, removed, first } = difference(before, content);
  const told = {
    path,
    instruction: instruction ?? null,
    content,
    lines_added: added,
    lines_removed: removed,
    first_line: first,
    diff: lines.slice(0, toldLines),
    more: Math.max(0, lines.length - toldLines),
  };
  const message = `Changed ${name} in the editor (+${added}, -${removed} lines). The file on disk is as it was.`;
  return { ...success(message, { data: { path, lines_added: added, lines_removed: removed } }), document: told };
}

function requireDocument(document: EditorBuffer | undefined): EditorBuffer {
  if (document === undefined) {
    throw new AppError(
      "invalid_state",
      "No document is open in the user's editor, or its text did not come with the request.",
      { suggestion: "Use read_file and edit_file for files, or ask the user to open the document." },
    );
  }
  if (!document.isEditable) {
    throw new AppError("permission", `"${document.path}" cannot be changed in the editor: it is read-only there.`, {
      suggestion: "Tell the user, who may allow it.",
    });
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
