import { createHash } from "node:crypto";
import { isHumanMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import type { FileChange, OperationRecord } from "@millrace/engine/storage/records";
import type { OperationReader } from "@millrace/engine/storage/attempt-store";
import { textOfState } from "../../tools/undo/record-operation.ts";
import type { EditorBuffer } from "../../tools/runtime/tool.ts";
import { loopCall } from "../request.ts";
import { servicesOf, sessionIdOf } from "../services.ts";

/** Newest operations of a session that are searched for this turn's. */
const lookedThrough = 100;

/** The editor's document after this turn's calls; `undefined` if its text did not come with the run. */
export function editorBuffer(config: LangGraphRunnableConfig): EditorBuffer | undefined {
  const { document, agent, history } = loopCall(config);
  // Agents work on files, not in the user's editor.
  if (document?.content === undefined || agent !== undefined) return undefined;
  const { content, path = "", editor } = document;
  const { operations } = servicesOf(config);
  const turn = history.findLast((message) => isHumanMessage(message))?.id ?? "";
  return {
    path,
    turn,
    isEditable: editor?.editable !== false,
    text: async () =>
      operations === undefined ? content : await textAfter(content, { path, turn }, sessionIdOf(config), operations),
  };
}

/**
 * The text after this turn's newest edit, if the run came with text from before it: an answer to a question resumes
 * with the run's original text. Other text contains the user's own changes since.
 */
async function textAfter(
  content: string,
  { path, turn }: Pick<EditorBuffer, "path" | "turn">,
  sessionId: string,
  operations: OperationReader,
): Promise<string> {
  const { operations: newest } = await operations.list(sessionId, { limit: lookedThrough, offset: 0 });
  const edits = newest.flatMap((operation) => {
    const change = editOf(operation);
    return change?.path === path && change.turn === turn ? [{ operation, change }] : [];
  });
  const hash = createHash("sha256").update(content).digest("hex");
  const isOld = edits.some(({ change: { before } }) => before.kind === "file" && before.hash === hash);
  const [last] = edits;
  if (last === undefined || !isOld || last.change.after === null) return content;
  const { operation_id } = last.operation;
  return (await textOfState(last.change.after, (one) => operations.content(operation_id, one))) ?? content;
}

function editOf({ change, status }: OperationRecord): (FileChange & { kind: "document" }) | undefined {
  return change.kind === "document" && status === "success" ? change : undefined;
}
