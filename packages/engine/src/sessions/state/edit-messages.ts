import type { BaseMessage } from "@langchain/core/messages";
import { z } from "zod";
import { AppError } from "../../errors/errors.ts";
import { isAIMessage, isToolMessage } from "../../message-kinds.ts";
import type { Graphs } from "../../graphs/load.ts";
import { JsonObject, type Session } from "../../storage/records.ts";
import { newestState, putValues } from "./prune.ts";
import { indexOfMessage, messagesIn, validList } from "../messages/conversation.ts";
import type { SessionRuns, SessionStorage } from "../scope/session-storage.ts";
import { LlmMetadata, ModelView, roleOf } from "../messages/message-fields.ts";
import { deleteSession, isDone, requireSession } from "../sessions.ts";
import { fromStored, repeatedId, StoredMessage, toStored } from "../messages/stored-message.ts";
import { deleteAssistant } from "../assistants.ts";
import type { OwnerScope } from "../scope/owner-scope.ts";

/** The changeable fields of a message; omitted ones stay. */
export const MessageChange = z.object({
  content: StoredMessage.shape.content.optional(),
  /** Merged into the existing metadata. */
  metadata: JsonObject.optional(),
  /** Replaces the existing metadata. */
  llm_metadata: LlmMetadata.optional(),
  model_view: ModelView.nullable()
    .optional()
    .describe("keep: also stays when the conversation is compressed; hide: no later request has it; null: neither"),
});
export type MessageChange = z.infer<typeof MessageChange>;

/** Dependencies of message edits. */
export interface EditParts {
  storage: SessionStorage;
  runs: Pick<SessionRuns, "between">;
}

/** What else of a state changes when its messages do: values of other channels. */
export type Following = (
  values: unknown,
  before: readonly BaseMessage[],
  after: readonly BaseMessage[],
) => Record<string, unknown>;

/**
 * Appends messages to an idle session without a run; a known id replaces that message. Returns the written messages. A
 * session without runs needs `graphId`. Throws `conflict` while a run works or a question waits, `not_found` for an
 * unknown graph, `invalid_parameter` for a duplicate id.
 */
export async function appendMessages(
  parts: EditParts & { graphs: Graphs },
  session: Session,
  added: readonly StoredMessage[],
  graphId: string | undefined,
): Promise<BaseMessage[]> {
  const { graphs } = parts;
  const known = session.metadata["graph_id"];
  const graph_id = typeof known === "string" ? known : graphId;
  if (graph_id === undefined) {
    throw new AppError("invalid_state", `Thread ${session.session_id} has no graph ID`, {
      suggestion: "Say with graph_id which graph it belongs to, or run an assistant on it first.",
    });
  }
  // Throws for a graph that is not served.
  graphs.get(graph_id);
  const now = new Date().toISOString();
  const twice = repeatedId(added);
  if (twice !== undefined) throw new AppError("invalid_parameter", `Two of the messages have the id ${twice}.`);
  const fresh = added.map((one) => fromStored(one, now));
  await rewrite(parts, session, { graph_id }, (before) => {
    const replaced = new Map(fresh.map((message) => [message.id, message]));
    const kept = before.map((message) => replaced.get(message.id) ?? message);
    const known = new Set(before.map(({ id }) => id));
    return [...kept, ...fresh.filter(({ id }) => !known.has(id))];
  });
  return fresh;
}

/**
 * Changes one message of an idle session and returns it. Throws `not_found`, and `conflict` while a run works or a
 * question waits.
 */
export async function updateMessage(
  parts: EditParts,
  session: Session,
  messageId: string,
  change: MessageChange,
): Promise<BaseMessage> {
  const messages = await rewrite(parts, session, {}, (before) => {
    const index = indexOfMessage(before, messageId);
    return before.map((message, at) => (at === index ? changed(message, change) : message));
  });
  const updated = messages[indexOfMessage(messages, messageId)];
  if (updated === undefined) throw new AppError("not_found", `Message ${messageId} not found in this thread`);
  return updated;
}

/**
 * Removes one message from an idle session's state, and with it the results of its calls; the history keeps them.
 * Returns the ids of what was removed. Throws `not_found`, `conflict` while a run works or a question waits, and
 * `invalid_parameter` for a result, since each call has one.
 */
export async function deleteMessage(
  parts: EditParts & { following: Following },
  session: Session,
  messageId: string,
): Promise<string[]> {
  let removed: string[] = [];
  const edit = (before: BaseMessage[]): BaseMessage[] => {
    const index = indexOfMessage(before, messageId);
    const message = before[index];
    if (message !== undefined && isToolMessage(message)) {
      throw new AppError("invalid_parameter", "The result of a call is deleted with the message that made the call.", {
        message_zh: "工具调用的结果会随发起调用的消息一并删除。",
      });
    }
    const calls = new Set(message !== undefined && isAIMessage(message) ? message.tool_calls?.map(({ id }) => id) : []);
    const goes = (one: BaseMessage, at: number): boolean =>
      at === index || (at > index && isToolMessage(one) && calls.has(one.tool_call_id));
    removed = before.filter(goes).flatMap(({ id }) => id ?? []);
    return before.filter((one, at) => !goes(one, at));
  };
  await rewrite(parts, session, {}, edit, parts.following);
  return removed;
}

/** Removes all messages from an idle session's state, except system texts with `keepSystem`. Its history keeps them. */
export async function clearMessages(parts: EditParts, session: Session, keepSystem: boolean): Promise<number> {
  let count = 0;
  await rewrite(parts, session, {}, (before) => {
    const kept = before.filter((message) => keepSystem && roleOf(message) === "system");
    count = before.length - kept.length;
    return kept;
  });
  return count;
}

function changed(message: BaseMessage, { content, metadata, llm_metadata, model_view }: MessageChange): BaseMessage {
  const kwargs = message.additional_kwargs;
  const known = JsonObject.safeParse(kwargs["metadata"]).data ?? {};
  const stored = {
    ...toStored(message),
    ...(content !== undefined && { content }),
    additional_kwargs: {
      ...kwargs,
      updated_at: new Date().toISOString(),
      ...(metadata !== undefined && { metadata: { ...known, ...metadata } }),
      ...(llm_metadata !== undefined && { llm_metadata }),
      ...(model_view !== undefined && { model_view }),
    },
  };
  // An existing message is valid even if longer than new ones may be; the change was checked.
  return fromStored(stored as StoredMessage, new Date().toISOString());
}

/**
 * Writes the edited messages as a new state; the former one stays in the history. From reading the session to the
 * write, no run starts and nothing else writes: one would build on a state the other has replaced.
 */
function rewrite(
  { storage, runs }: EditParts,
  { session_id }: Session,
  metadata: JsonObject,
  edit: (before: BaseMessage[]) => BaseMessage[],
  following: Following = () => ({}),
): Promise<BaseMessage[]> {
  return runs.between(session_id, async () => {
    await requireIdle(storage, session_id);
    const base = await newestState(storage.checkpointer, session_id);
    const before = messagesIn(base?.checkpoint.channel_values);
    const after = validList(edit(before));
    const others = following(base?.checkpoint.channel_values, before, after);
    await putValues(storage.checkpointer, session_id, base, { ...others, messages: after });
    await storage.sessions.update(session_id, { metadata });
    return after;
  });
}

/** Throws `conflict` while a run works or a question waits, `not_found` if the session was deleted. */
export async function requireIdle(storage: SessionStorage, sessionId: string): Promise<void> {
  const now = await requireSession(storage, sessionId);
  if (now.status === "busy") {
    throw new AppError("conflict", "Thread is busy", {
      suggestion: "Wait for its run, or cancel it.",
      message_zh: "会话正在运行。请等待运行结束，或先停止它。",
    });
  }
  if (Object.keys(now.interrupts).length > 0) {
    throw new AppError("conflict", "A question waits in this thread; a change would pass over it.", {
      suggestion: "Answer it first, see /threads/:id/approvals, or send a message.",
      message_zh: "会话中有问题等待回答，现在更改会跳过它。请先回答，或发送消息。",
    });
  }
}

/** What `truncate` deletes. */
interface Truncation {
  /** All threads with their data. */
  threads: boolean;
  /** All runs with their states; threads stay. */
  runs: boolean;
  /** All states; threads and runs stay. */
  checkpointer: boolean;
  /** All items of the store. */
  store: boolean;
  /** All assistants created by users, with their runs; graphs' default ones stay. */
  assistants: boolean;
}

const page = 500;

/**
 * Deletes the caller's data of some kinds, for clients' test suites. What the caller sees but may not delete stays.
 * Throws `permission`, before deleting anything, if the caller shares the store.
 */
export async function truncate(
  parts: Pick<OwnerScope, "storage" | "runs" | "items">,
  wanted: Truncation,
): Promise<void> {
  const { storage, runs, items } = parts;
  if (wanted.store) await items.clear();
  if (wanted.assistants) await deleteAssistants(parts);
  if (!wanted.threads && !wanted.runs && !wanted.checkpointer) return;
  for (const id of await allSessions(storage)) {
    if (wanted.threads && (await isDone(deleteSession(parts, id)))) continue;
    if (wanted.runs) await deleteRuns(runs, id);
    if (wanted.checkpointer) await isDone(deleteStates(parts, id));
  }
}

async function deleteStates({ storage, runs }: Pick<OwnerScope, "storage" | "runs">, sessionId: string): Promise<void> {
  await runs.cancelSession(sessionId);
  await runs.between(sessionId, () => storage.checkpointer.deleteThread(sessionId));
}

async function deleteAssistants(parts: Pick<OwnerScope, "storage" | "runs">): Promise<void> {
  // Without system assistants: the search finds rows only.
  const { assistants } = await parts.storage.assistants.search({ limit: Number.MAX_SAFE_INTEGER, offset: 0 }, []);
  for (const assistant of assistants) {
    if (!assistant.is_system) await isDone(deleteAssistant(parts, assistant, false));
  }
}

async function allSessions({ sessions }: OwnerScope["storage"]): Promise<string[]> {
  const ids: string[] = [];
  for (let total = Infinity; ids.length < total;) {
    const found = await sessions.search({ limit: page, offset: ids.length, sort_by: "thread_id", sort_order: "asc" });
    if (found.sessions.length === 0) break;
    ids.push(...found.sessions.map(({ session_id }) => session_id));
    total = found.total;
  }
  return ids;
}

async function deleteRuns(runs: OwnerScope["runs"], sessionId: string): Promise<void> {
  for (let kept = 0; ;) {
    const found = await runs.list(sessionId, { limit: page, offset: kept });
    if (found.length === 0) return;
    for (const { run_id } of found) if (!(await isDone(runs.delete(run_id)))) kept += 1;
  }
}
