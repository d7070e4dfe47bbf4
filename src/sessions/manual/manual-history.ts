import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { AppError, isAppError } from "@millrace/engine/errors/errors";
import type { Graphs } from "@millrace/engine/graphs/load";
import { toToolMessage } from "../../loop/tool-call/result-message.ts";
import { manualRunNote } from "../../prompts/templates/manual-run.ts";
import { LoopLimits } from "../../state.ts";
import type { Session } from "@millrace/engine/storage/records";
import type { Tool } from "../../tools/runtime/tool.ts";
import { readMessages } from "@millrace/engine/sessions/messages/conversation";
import { appendMessages } from "@millrace/engine/sessions/state/edit-messages";
import type { ManualParts } from "./manual-call.ts";
import { StoredMessage, toStored } from "@millrace/engine/sessions/messages/stored-message";
import type { ToolResult } from "../../tools/runtime/result.ts";

function messageIds(messageId: string, { errorType }: ToolResult): string[] {
  return errorType === "denied" ? [] : [`${messageId}-note`, messageId, `${messageId}-result`];
}

/** The call as the history records it, under the id of the message that makes it. */
export interface RecordedCall {
  tool: Tool;
  input: Record<string, unknown>;
  messageId: string;
}

/** `recordCall` for a repeated call: writes only if the first time did not, for example because the server was killed. */
export async function recordCallOnce(
  parts: ManualParts,
  session: Session,
  call: RecordedCall,
  result: ToolResult,
): Promise<string[]> {
  const messages = await readMessages(parts.storage, session.session_id);
  const isThere = messages.some(({ id }) => id === call.messageId);
  return isThere ? messageIds(call.messageId, result) : await recordCall(parts, session, call, result);
}

/**
 * Adds the call to the history: the user's message, the call, and its result, in a form valid for every provider. Does
 * nothing if a run has started meanwhile, which has its own state.
 */
export async function recordCall(
  parts: ManualParts,
  session: Session,
  { tool, input, messageId }: RecordedCall,
  result: ToolResult,
): Promise<string[]> {
  const ids = messageIds(messageId, result);
  const [noteId, , resultId] = ids;
  if (noteId === undefined || resultId === undefined) return [];
  const callName = { id: `call_${messageId}`, name: tool.name };
  const additional_kwargs = { manual: true };
  const answer = toToolMessage({ call: callName }, result, LoopLimits.parse({}).tool_result_max_length);
  const content = manualRunNote({ tool: tool.name }, parts.services.prompts);
  const messages = [
    new HumanMessage({ id: noteId, content, additional_kwargs }),
    new AIMessage({ id: messageId, content: "", tool_calls: [{ ...callName, args: input }], additional_kwargs }),
  ].map(toStored);
  const stored = [...messages, { ...toStored(answer), id: resultId }].map((one) => StoredMessage.parse(one));
  try {
    await appendMessages(parts, session, stored, graphOf(session, parts.graphs));
    return ids;
  } catch (error) {
    if (isAppError(error) && error.code === "conflict") return [];
    throw error;
  }
}

/** The graph that the session belongs to; one that had no run yet becomes the first graph's. */
export function graphOf({ metadata }: Session, graphs: Graphs): string {
  const known = metadata["graph_id"];
  const id = typeof known === "string" ? known : graphs.ids()[0];
  if (id === undefined) throw new AppError("invalid_state", "No graph is served whose thread this could be.");
  graphs.get(id);
  return id;
}
