import { AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { isAIMessage, isBaseMessage, isBaseMessageChunk, messageText } from "../../message-kinds.ts";
import type { RunEvent } from "../../run-events.ts";
import type { EventStore } from "../../storage/storage.ts";
import { readStored } from "./log.ts";

/** The text that readers have of each message, by its id. */
export type ToldMessages = Map<string, string>;

/** What the former attempts of a run have told of messages. */
export async function readToldMessages(events: EventStore, runId: string, signal: AbortSignal): Promise<ToldMessages> {
  const told: ToldMessages = new Map();
  for await (const batch of readStored(events, runId, -1, signal)) for (const event of batch) addEvent(told, event);
  return told;
}

function addEvent(told: ToldMessages, event: RunEvent): void {
  if (event.event !== "messages" || !isBaseMessage(event.data)) return;
  const { id } = event.data;
  if (id !== undefined) told.set(id, (told.get(id) ?? "") + messageText(event.data));
}

/**
 * What is still to be told of a message that a resumed walk gives as a whole: LangGraph does not know that its words
 * were streamed before the crash, and readers add up what they get under one id. `undefined`: nothing.
 */
export function leftToTell(message: BaseMessage, told: ToldMessages): BaseMessage | undefined {
  const before = message.id === undefined || isBaseMessageChunk(message) ? undefined : told.get(message.id);
  if (message.id === undefined || before === undefined) return message;
  const text = messageText(message);
  const rest = isAIMessage(message) && text.startsWith(before) ? text.slice(before.length) : "";
  told.set(message.id, before + rest);
  return rest === "" ? undefined : new AIMessageChunk({ id: message.id, content: rest });
}
