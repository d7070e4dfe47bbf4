import type { BaseMessage } from "@langchain/core/messages";
import { v7 as newId } from "@langchain/core/utils/uuid";
import { z } from "zod";
import { isBaseMessage, repairToolPairs } from "../../message-kinds.ts";
import { AppError } from "../../errors/errors.ts";
import type { SessionStorage } from "../scope/session-storage.ts";
import { readValues } from "../sessions.ts";

const WithMessages = z.looseObject({ messages: z.array(z.custom<BaseMessage>(isBaseMessage)) });

/** The messages among the values of a state; none where a graph keeps none. */
export function messagesIn(values: unknown): BaseMessage[] {
  return WithMessages.safeParse(values).data?.messages ?? [];
}

/** The messages of a session, oldest first. */
export async function readMessages(storage: SessionStorage, sessionId: string): Promise<BaseMessage[]> {
  return messagesIn(await readValues(storage, sessionId));
}

/** A list that a strict provider accepts (law 6): each call has its result; one that was missing has an id of its own. */
export function validList(messages: BaseMessage[]): BaseMessage[] {
  const known = new Set(messages);
  const valid = repairToolPairs(messages);
  for (const message of valid) if (!known.has(message)) message.id ??= newId();
  return valid;
}

/** A message, in whatever form it is shown. */
type WithId = { id?: string | null | undefined };

/** Where a message stands; its id, or the first 8 or more characters of it. Throws `not_found`. */
export function indexOfMessage(messages: readonly WithId[], messageId: string): number {
  const exact = messages.findLastIndex(({ id }) => id === messageId);
  if (exact !== -1) return exact;
  const [only, another] = messageId.length < 8 ? [] : messages.filter(({ id }) => id?.startsWith(messageId) === true);
  if (only !== undefined && another === undefined) return messages.indexOf(only);
  const what = another === undefined ? "not found in this thread" : "stands for several messages of this thread";
  throw new AppError("not_found", `Message ${messageId} ${what}`, {
    suggestion: "GET /threads/:id/messages lists the messages with their ids.",
  });
}

/** A part of a list of messages, and where it goes on. */
export interface MessagePage<Message> {
  messages: Message[];
  total: number;
  /** Id of a message before which there are more; `null` when the page begins with the first one. */
  before: string | null;
}

/** The last `limit` messages, or those before the message `before`. Throws `not_found`. */
export function pageOfMessages<Message extends WithId>(
  messages: readonly Message[],
  query: { limit: number; before?: string | undefined },
): MessagePage<Message> {
  const end = query.before === undefined ? messages.length : indexOfMessage(messages, query.before);
  const begin = Math.max(0, end - query.limit);
  const page = messages.slice(begin, end);
  return { messages: page, total: messages.length, before: begin === 0 ? null : (page[0]?.id ?? null) };
}
