import type { BaseMessage } from "@langchain/core/messages";
import { z } from "zod";
import { isHumanMessage } from "@millrace/engine/message-kinds";
import { usage } from "../../context/compression/compaction.ts";
import { lastExecutedRun } from "@millrace/engine/runs/admission/executed-runs";
import { modelLimits } from "@millrace/models/registry/model-limits";
import type { DefaultModel } from "./default-model.ts";
import { ConversationSummary, WorkMode } from "../../state.ts";
import { SessionStatus, type Session } from "@millrace/engine/storage/records";
import { CompressButton, compressButtons } from "./compress-button.ts";
import { messagesIn, nameOf, NameSource } from "@millrace/engine/sessions/messages/conversation";
import { lastWordsOf, previewOf } from "../messages/display.ts";
import type { OwnerScope } from "@millrace/engine/sessions/scope/owner-scope";
import { copiedContext } from "@millrace/engine/sessions/overview/last-run";
import { LlmMetadata, readExtras, roleOf } from "@millrace/engine/sessions/messages/message-fields";
import { readValues } from "@millrace/engine/sessions/sessions";
import { activeSuggestions } from "@millrace/engine/sessions/overview/suggestions";

/** A session in a list. `message_count` counts user and assistant messages. */
export const SessionInfo = z.object({
  thread_id: z.string(),
  name: z.string(),
  name_source: NameSource,
  description: z.string().nullable(),
  work_mode: WorkMode.nullable(),
  status: SessionStatus,
  created_at: z.string(),
  updated_at: z.string(),
  message_count: z.number().int(),
  preview: z.string().describe("The first 50 characters of the first thing the user said"),
  last_words: z.string().describe("The first 100 characters of what was said last; empty before anything was said"),
  has_partial_response: z.boolean(),
  forked_from: z.object({ thread_id: z.string(), message_id: z.string() }).nullable(),
  graph_id: z.string().nullable(),
  assistant_id: z.string().nullable(),
  pinned: z.boolean(),
  archived: z.boolean(),
  read_at: z.string().nullable().describe("How far somebody has read it; null where that was never marked"),
  unread_since: z.string().nullable().describe("The same where it has changed since; null where nothing is unread"),
});
export type SessionInfo = z.infer<typeof SessionInfo>;

/** The same with details for a chat window. */
export const SessionDetails = SessionInfo.extend({
  context_usage: z.object({
    tokens: z.number().describe("Estimated tokens of the messages that the model sees"),
    limit: z.number().describe("Tokens that the model may read"),
    ratio: z.number(),
    compress_button_state: CompressButton,
  }),
  active_suggestion_message_id: z.string().nullable(),
  conversation_rounds: z.number().int(),
  total_usage: z.object({
    input_tokens: z.number(),
    output_tokens: z.number(),
    cost: z.number().nullable().describe("In the unit of the runs' price; null where no price was known"),
  }),
});
export type SessionDetails = z.infer<typeof SessionDetails>;

/** Fields of our workflow's state; other graphs have none, or different ones under these names. */
const StateFields = z.object({
  work_mode: WorkMode.nullable().default(null).catch(null),
  conversation_summary: ConversationSummary.nullable().default(null).catch(null),
});
/** Session metadata; invalid values count as absent. */
const Known = z.object({
  graph_id: z.string().nullable().default(null).catch(null),
  assistant_id: z.string().nullable().default(null).catch(null),
  pinned: z.boolean().default(false).catch(false),
  archived: z.boolean().default(false).catch(false),
  read_at: z.iso.datetime().nullable().default(null).catch(null),
});
const ForkedFrom = SessionInfo.shape.forked_from.default(null).catch(null);

/** What a list shows of a session, from its row and the values of its newest state. */
export function toInfo(session: Session, values: unknown): SessionInfo {
  const messages = messagesIn(values);
  const { name, source } = nameOf(session, messages);
  const description: unknown = session.metadata["description"];
  const spokenMessages = messages.filter((message) => ["user", "assistant"].includes(roleOf(message)));
  const last = spokenMessages.at(-1);
  const known = Known.parse(session.metadata);
  const { read_at } = known;
  return {
    thread_id: session.session_id,
    name,
    name_source: source,
    description: typeof description === "string" ? description : null,
    work_mode: StateFields.parse(values ?? {}).work_mode,
    status: session.status,
    created_at: session.created_at,
    updated_at: session.updated_at,
    message_count: spokenMessages.length,
    preview: previewOf(messages),
    last_words: lastWordsOf(spokenMessages),
    has_partial_response: last !== undefined && readExtras(last).is_partial,
    forked_from: ForkedFrom.parse(session.metadata["forked_from"]),
    ...known,
    unread_since: read_at !== null && session.updated_at > read_at ? read_at : null,
  };
}

/** A session's details without messages. The window is that of its last run's model. */
export async function readDetails(
  { storage, runs }: { storage: OwnerScope["storage"]; runs: Pick<OwnerScope["runs"], "list"> },
  session: Session,
  server: DefaultModel,
): Promise<SessionDetails> {
  const [values, last] = await Promise.all([
    readValues(storage, session.session_id),
    lastExecutedRun(runs, session.session_id),
  ]);
  const messages = messagesIn(values);
  const { model: chosen } = last?.kwargs.context ?? copiedContext(session);
  const model = typeof chosen === "string" ? chosen : server.model;
  const limit = modelLimits(model, server.contextLimit, server.profile).context;
  const { tokens, ratio, level } = usage(messages, StateFields.parse(values ?? {}).conversation_summary, limit);
  return {
    ...toInfo(session, values),
    context_usage: { tokens, limit, ratio, compress_button_state: compressButtons[level] },
    active_suggestion_message_id: activeSuggestions(messages)?.message_id ?? null,
    conversation_rounds: messages.filter((message) => isHumanMessage(message)).length,
    total_usage: totalUsage(messages),
  };
}

/** Usage of a session's model calls, from its messages. */
export function totalUsage(messages: readonly BaseMessage[]): SessionDetails["total_usage"] {
  const total: SessionDetails["total_usage"] = { input_tokens: 0, output_tokens: 0, cost: null };
  for (const message of messages) {
    const metadata = message.additional_kwargs["llm_metadata"];
    const known = metadata === undefined ? undefined : LlmMetadata.safeParse(metadata).data;
    if (known === undefined) continue;
    total.input_tokens += known.input_tokens ?? 0;
    total.output_tokens += known.output_tokens ?? 0;
    if (known.input_cost === undefined && known.output_cost === undefined) continue;
    total.cost = (total.cost ?? 0) + (known.input_cost ?? 0) + (known.output_cost ?? 0);
  }
  return total;
}
