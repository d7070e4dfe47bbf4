import type { BaseMessage } from "@langchain/core/messages";
import { v7 as newId } from "@langchain/core/utils/uuid";
import { isHumanMessage } from "../../message-kinds.ts";
import { AppError } from "../../errors/errors.ts";
import type { JsonObject, Session } from "../../storage/records.ts";
import { findStateBefore } from "./checkpoint-chain.ts";
import { indexOfMessage, readMessages } from "../messages/conversation.ts";
import type { OwnerScope } from "../scope/owner-scope.ts";
import { lastRunOf } from "../overview/last-run.ts";
import type { StoredMessage } from "../messages/stored-message.ts";

/** What a run is told that takes a session back to a message of the user's and says it anew. */
export interface Rerun {
  assistant_id: string;
  context: JsonObject;
  input: { messages: JsonObject[] };
  checkpoint: { checkpoint_id: string; checkpoint_ns: string };
}

/**
 * The run that says a message of the user's again, changed where `content` is given, and lets everything after it be as
 * if it had not been said; for any other message, the one of the user's that it belongs to. What is left stays in the
 * history. Throws `not_found`, and `invalid_state` where there is no message of the user's or its state was pruned.
 */
export async function rerunRequest(
  { storage, runs }: Pick<OwnerScope, "storage" | "runs">,
  session: Session,
  messageId: string,
  content: StoredMessage["content"] | undefined,
): Promise<Rerun> {
  const messages = await readMessages(storage, session.session_id);
  const at = indexOfMessage(messages, messageId);
  const index = messages.slice(0, at + 1).findLastIndex((message) => isHumanMessage(message));
  const said = messages[index];
  if (said === undefined) throw new AppError("invalid_state", "Before this message the user has said nothing.");
  const state = await findStateBefore(storage.checkpointer, session.session_id, messages.slice(0, index));
  if (state === undefined) {
    throw new AppError("invalid_state", "The state before this message is not kept any more.", {
      suggestion: "POST /threads/:id/fork makes a copy up to the message before it; say it anew there.",
    });
  }
  const { assistant, context: chosen } = await lastRunOf(runs, session);
  const { partial: _partial, compress: _compress, ...context } = chosen;
  return {
    assistant_id: assistant,
    context,
    input: { messages: [anew(said, content)] },
    checkpoint: { checkpoint_id: state.checkpoint.id, checkpoint_ns: "" },
  };
}

/** The message under an id of its own: the old one keeps its place in the branch that is left. */
function anew(message: BaseMessage, content: StoredMessage["content"] | undefined): JsonObject {
  const { name } = message;
  const { timestamp: _timestamp, updated_at: _updated, ...kwargs } = message.additional_kwargs;
  return {
    type: "human",
    id: newId(),
    content: content ?? message.content,
    ...(name !== undefined && { name }),
    additional_kwargs: {
      ...kwargs,
      timestamp: new Date().toISOString(),
      ...(message.id !== undefined && { edited_from: message.id }),
    },
  };
}
