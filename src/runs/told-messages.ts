import {
  AIMessageChunk,
  isAIMessage,
  isBaseMessage,
  isBaseMessageChunk,
  type BaseMessage,
} from "@langchain/core/messages";
import type { RunEvent } from "../events.ts";
import type { EventStore } from "../storage/storage.ts";
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
  const { id, text } = event.data;
  if (id !== undefined) told.set(id, (told.get(id) ?? "") + text);
}

/**
 * What is still to be told of a message that a resumed walk gives as a whole: LangGraph does not know that its words were
 * streamed before the crash, and readers add up what they get under one id. `undefined`: nothing.
 */
export function leftToTell(message: BaseMessage, told: ToldMessages): BaseMessage | undefined {
  const before = message.id === undefined || isBaseMessageChunk(message) ? undefined : told.get(message.id);
  if (message.id === undefined || before === undefined) return message;
  const rest = isAIMessage(message) && message.text.startsWith(before) ? message.text.slice(before.length) : "";
  told.set(message.id, before + rest);
  return rest === "" ? undefined : new AIMessageChunk({ id: message.id, content: rest });
}
