import { createHash } from "node:crypto";
import { isHumanMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import type { FileChange, OperationRecord } from "@millrace/engine/storage/records";
import type { OperationStore } from "@millrace/engine/storage/storage";
import { textOfState } from "../../tools/undo/record-operation.ts";
import type { EditorBuffer } from "../../tools/runtime/tool.ts";
import { loopCall } from "../request.ts";
import { servicesOf, sessionIdOf } from "../services.ts";

/** Newest operations of a session that are looked through for those of the turn. */
const lookedThrough = 100;

/**
 * The document that the client's editor shows, as the calls of this turn have left it; `undefined` where its text did
 * not come with the run.
 */
export function editorBuffer(config: LangGraphRunnableConfig): EditorBuffer | undefined {
  const { document, agent, history } = loopCall(config);
  // An agent works on files; the editor is the user's.
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
 * What the newest change of the turn has left, as long as the run came with a text from before it: an answer to a
 * question goes on with what its run was begun with. Any other text is what the user has made of it since.
 */
async function textAfter(
  content: string,
  { path, turn }: Pick<EditorBuffer, "path" | "turn">,
  sessionId: string,
  operations: OperationStore,
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
