import type { BaseMessage } from "@langchain/core/messages";
import type { Language } from "@millrace/engine/language";
import { isAIMessage } from "@millrace/engine/message-kinds";
import type { Session } from "@millrace/engine/storage/records";
import { operationText } from "../../tools/undo/operation-diff.ts";
import type { Operations } from "../../tools/undo/operations.ts";

import { setOperations } from "@millrace/engine/sessions/messages/message-fields";

/** Newest operations examined: as many as have stored content. */
const lookedAt = 200;

/** The messages, those of the assistant with a line for each change that their calls made, in this language. */
export async function withOperations(
  operations: Operations,
  session: Session,
  messages: readonly BaseMessage[],
  language: Language,
): Promise<BaseMessage[]> {
  const { operations: cards } = await operations.list(session.session_id, { limit: lookedAt, offset: 0 });
  const done = cards.filter(({ status }) => status === "success").toReversed();
  const ofMessage = Map.groupBy(done, ({ message_id }) => message_id);
  return messages.map((message) => {
    const own = ofMessage.get(message.id ?? "");
    if (own === undefined || !isAIMessage(message)) return message;
    return setOperations(
      message,
      own.map((card) => operationText(card, language)),
    );
  });
}
