import { addToMessages } from "../message-list.ts";

/** The reducers of LangGraph that make messages of what they are given. */
const messageReducers = new Set(["messagesStateReducer", "messagesDeltaReducer"]);

/** What has channels, by their names. */
export interface WithChannels {
  channels: Record<string, unknown>;
}

/**
 * Whether a channel's reducer is LangGraph's one for messages, or ours in its place. Asked by name: the graph may be
 * made of another copy of LangGraph. A reducer of a user's own is neither, whatever it keeps.
 */
export function holdsMessages({ channels }: WithChannels, name: string): boolean {
  const channel = Object.hasOwn(channels, name) ? channels[name] : undefined;
  if (typeof channel !== "object" || channel === null) return false;
  const reducer: unknown =
    "operator" in channel ? channel.operator : "reducer" in channel ? channel.reducer : undefined;
  return typeof reducer === "function" && (reducer === addToMessages || messageReducers.has(reducer.name));
}
