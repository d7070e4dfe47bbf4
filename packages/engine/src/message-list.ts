import { BaseMessage, BaseMessageChunk, RemoveMessage } from "@langchain/core/messages";
import { messagesStateReducer, ReducedValue } from "@langchain/langgraph";
import { z } from "zod";

/** Messages already checked, which LangGraph's reducer can take unchanged. */
const sound = new WeakSet<object>();

function isSound(message: unknown): message is BaseMessage {
  if (typeof message === "object" && message !== null && sound.has(message)) return true;
  if (!BaseMessage.isInstance(message)) return false;
  const isWhole = !BaseMessageChunk.isInstance(message) && !RemoveMessage.isInstance(message);
  if (!isWhole || typeof message.id !== "string") return false;
  sound.add(message);
  return true;
}

type Id = string | undefined;

/** The index of each id, in all lists with the same beginning; `several`: ids whose index differs. */
interface Places {
  places: Map<Id, number>;
  several: Set<Id>;
}

/** A checked list, with its length at that time. */
interface Known extends Places {
  length: number;
}
const lists = new WeakMap<readonly unknown[], Known>();
/** The last checked list by its first message: what is read back is often the same again. */
const latest = new WeakMap<object, readonly unknown[]>();

function placesOf(list: unknown[]): Places | undefined {
  const known = lists.get(list);
  if (known?.length === list.length) return known;
  const same = sameAs(list);
  if (same === undefined && !list.every(isSound)) return undefined;
  const found: Known = same ?? { places: new Map(), several: new Set(), length: list.length };
  // A list with known message objects is a list of messages.
  if (same === undefined) (list as BaseMessage[]).forEach((message, index) => put(message, index, found));
  return remember(list, found);
}

/** What is known of a list with exactly these messages. */
function sameAs(list: readonly unknown[]): Known | undefined {
  const [first] = list;
  const other = typeof first === "object" && first !== null ? latest.get(first) : undefined;
  const known = other === undefined ? undefined : lists.get(other);
  if (known?.length !== list.length || other?.length !== list.length) return undefined;
  return beginsWith(list, other) ? known : undefined;
}

function remember(list: readonly unknown[], { places, several }: Places): Known {
  const known = { places, several, length: list.length };
  const [first] = list;
  lists.set(list, known);
  if (typeof first === "object" && first !== null) latest.set(first, list);
  return known;
}

function put({ id }: BaseMessage, place: number, { places, several }: Places): void {
  const before = places.get(id);
  if (before !== undefined && before !== place) several.add(id);
  places.set(id, place);
}

function placeIn(list: readonly BaseMessage[], id: Id, { places, several }: Places): number {
  const place = places.get(id);
  if (place === undefined) return -1;
  if (list[place]?.id === id) return place;
  return several.has(id) ? list.findLastIndex((message) => message.id === id) : -1;
}

/** Whether a list contains a message with this id. */
export function hasMessage(list: BaseMessage[], id: string): boolean {
  const places = placesOf(list);
  return places === undefined ? list.some((message) => message.id === id) : placeIn(list, id, places) >= 0;
}

/**
 * LangGraph's `messagesStateReducer` at a fraction of its cost in long conversations: checked messages are not checked
 * again.
 */
export const addToMessages: typeof messagesStateReducer = (left, right) => {
  // Steps compute the resulting list first, and LangGraph then the same one.
  const added: unknown[] = Array.isArray(right) ? right : [right];
  const made = merges.get(added);
  const length = added.length + (Array.isArray(left) ? left.length : 0);
  if (made !== undefined && made.left === left && made.length === length) return made.merged;
  const places = Array.isArray(left) ? placesOf(left) : undefined;
  if (places === undefined || !added.every(isSound)) return messagesStateReducer(left, right);
  // A list with known indexes is a list of messages.
  const before = left as BaseMessage[];
  if (added.length === 0) return before;
  const merged = areNew(added, before, places) ? appended(before, added, places) : replaced(before, added, places);
  remember(merged, places);
  merges.set(added, { left, length, merged });
  return merged;
};

/** Cached results: by the added messages, the original list and the merged one. */
const merges = new WeakMap<readonly unknown[], { left: unknown; length: number; merged: BaseMessage[] }>();

function areNew(added: readonly BaseMessage[], before: readonly BaseMessage[], places: Places): boolean {
  const ids = new Set(added.map(({ id }) => id));
  return ids.size === added.length && added.every(({ id }) => placeIn(before, id, places) < 0);
}

/** Allocated at full length: appending one by one would copy a long list twice. */
function appended(before: readonly BaseMessage[], added: readonly BaseMessage[], places: Places): BaseMessage[] {
  added.forEach((message, index) => put(message, before.length + index, places));
  return [...before, ...added];
}

function replaced(before: readonly BaseMessage[], added: readonly BaseMessage[], places: Places): BaseMessage[] {
  const merged = [...before];
  for (const message of added) {
    const place = placeIn(merged, message.id, places);
    if (place >= 0) merged[place] = message;
    else put(message, merged.push(message) - 1, places);
  }
  return merged;
}

/** The messages of a state: LangGraph's own value, only faster. */
export const MessageList = new ReducedValue(
  z.custom<BaseMessage[]>().default(() => []),
  {
    inputSchema: z.custom<Parameters<typeof messagesStateReducer>[1]>(),
    reducer: addToMessages,
    jsonSchemaExtra: { langgraph_type: "messages", description: "A list of chat messages" },
  },
);

/**
 * Whether a list begins with exactly the elements of another. Called for whole conversations several times a turn, so
 * it avoids a call per element.
 */
export function beginsWith(list: readonly unknown[], beginning: readonly unknown[]): boolean {
  if (beginning.length > list.length) return false;
  for (let index = 0; index < beginning.length; index += 1) if (list[index] !== beginning[index]) return false;
  return true;
}
