import type { BaseMessage } from "@langchain/core/messages";
import { z } from "zod";
import { ConversationSummary, WorkMode } from "../../state.ts";
import type { JsonObject, Session } from "@millrace/engine/storage/records";
import { nameOf } from "@millrace/engine/sessions/messages/conversation";
import { toStored } from "@millrace/engine/sessions/messages/stored-message";

/** The export's format and its version, raised for changes that older servers cannot read. */
export const exportFormat = { name: "millrace.session", version: 1 } as const;

/** State fields of an export; other graphs have none. */
const Exported = z.object({
  work_mode: WorkMode.nullable().default(null).catch(null),
  conversation_summary: ConversationSummary.nullable().default(null).catch(null),
});
const UiState = z.object({ scroll_position: z.number().default(0) }).default({ scroll_position: 0 });

/** Keys of a session's metadata that are exported as fields of their own, or belong to this server only. */
const ownFields = [
  "name",
  "title",
  "description",
  "ui_state",
  "graph_id",
  "assistant_id",
  "thread_id",
  "forked_from",
  "copied_from",
];

/** A session as a file: the whole record with every message, hidden and system ones too. */
export function exportSession(
  session: Session,
  values: unknown,
  messages: readonly BaseMessage[],
  now: string,
): JsonObject {
  const { work_mode, conversation_summary } = Exported.parse(values ?? {});
  const { metadata } = session;
  const { name, source } = nameOf(session, messages);
  const own = Object.entries(metadata).filter(([key]) => !ownFields.includes(key));
  return {
    format: exportFormat.name,
    version: exportFormat.version,
    exported_at: now,
    session_id: session.session_id,
    session_name: name,
    name_source: source,
    description: typeof metadata["description"] === "string" ? metadata["description"] : null,
    graph_id: typeof metadata["graph_id"] === "string" ? metadata["graph_id"] : null,
    work_mode,
    created_at: session.created_at,
    updated_at: session.updated_at,
    message_count: messages.length,
    metadata: Object.fromEntries(own),
    summary: conversation_summary,
    ui_state: UiState.catch({ scroll_position: 0 }).parse(metadata["ui_state"]),
    messages: messages.map(toStored),
  };
}
