import { strategies } from "@millrace/engine/errors/error-strategy";
import { userText } from "@millrace/engine/errors/error-texts";
import { AppError, errorCodes } from "@millrace/engine/errors/errors";
import type { ConversationState, ToolCallStatus } from "../state.ts";
import type { RunError } from "@millrace/engine/storage/records";

/** The name of a conversation's state. */
export type ConversationName = ConversationState["state"];

/**
 * Every move of a conversation (also: an error before the first word, a reply that begins with a call, a reply that was not streamed, and a stop from any active state, which keeps the reply or drops it).
 */
export const conversationMoves: Readonly<Record<ConversationName, readonly ConversationName[]>> = {
  Idle: ["WaitingAIResponse"],
  WaitingAIResponse: ["StreamingResponse", "ToolCalling", "Error", "Completed", "Idle"],
  StreamingResponse: ["StreamingResponse", "ToolCalling", "Completed", "Error", "Idle"],
  ToolCalling: ["ToolCalling", "StreamingResponse", "Error", "Completed", "Idle"],
  Completed: ["Idle"],
  Error: ["StreamingResponse", "WaitingAIResponse", "Idle"],
};

/** Takes a conversation to another state. Throws `invalid_state` for a move that the table does not have. */
export function nextConversation(from: ConversationState, to: ConversationState): ConversationState {
  if (conversationMoves[from.state].includes(to.state)) return to;
  throw new AppError("invalid_state", `The conversation cannot go from ${from.state} to ${to.state}.`);
}

/** An event of a run that may change its conversation. */
export type Told =
  /** The user's message is taken up. */
  | { kind: "sent" }
  /** A piece of the reply has come. */
  | { kind: "heard"; message_id: string | null; text: string }
  | { kind: "call"; tool_call_id: string; tool_name: string; status: ToolCallStatus }
  /** The run is over, with a reply or a question. */
  | { kind: "replied"; message_id: string | null }
  /** It was stopped; `message_id` is that of the part of the reply which is kept, `null` when none is. */
  | { kind: "stopped"; message_id: string | null }
  | { kind: "failed"; error: RunError };

/** The state after an event; the same object if nothing has changed for the user. */
export function afterTold(state: ConversationState, told: Told): ConversationState {
  if (told.kind === "sent") return nextConversation(state, { state: "WaitingAIResponse", message_id: null });
  // Events that arrive after the end or the stop are ignored.
  if (state.state === "Idle" || state.state === "Completed" || state.state === "Error") return state;
  switch (told.kind) {
    case "heard": {
      const { message_id, text } = told;
      if (state.state === "StreamingResponse" && state.message_id === message_id) return state;
      return nextConversation(state, { state: "StreamingResponse", message_id, accumulated_text: text });
    }
    case "call": {
      const { kind: _, ...call } = told;
      const isKnown =
        state.state === "ToolCalling" && state.tool_call_id === call.tool_call_id && state.status === call.status;
      return isKnown ? state : nextConversation(state, { state: "ToolCalling", message_id: state.message_id, ...call });
    }
    case "replied":
      return nextConversation(state, { state: "Completed", message_id: told.message_id ?? state.message_id });
    case "stopped":
      return nextConversation(
        state,
        told.message_id === null ? { state: "Idle" } : { state: "Completed", message_id: told.message_id },
      );
    case "failed":
      return nextConversation(state, failedState(told.error, state.message_id));
  }
}

/** The state of a conversation whose run failed. The text says what happened and, where that is known, what to do. */
export function failedState({ error, message }: RunError, messageId: string | null): ConversationState {
  const code = errorCodes.find((known) => known === error);
  return {
    state: "Error",
    message_id: messageId,
    error: code === undefined ? `${error}: ${message}` : message,
    // What a graph has thrown says nothing about another try.
    recoverable: code !== undefined && strategies[code].class !== "fatal",
    ...(code === undefined ? {} : { suggestion: userText(code, "en").suggestion }),
  };
}

/** How a reader of the stream sees a conversation: `PAUSED` while tools run. */
export const streamStates = ["IDLE", "STREAMING", "PAUSED", "COMPLETE"] as const;

/** The stream's state in a state of the conversation. */
export function streamStateOf({ state }: ConversationState): (typeof streamStates)[number] {
  switch (state) {
    case "StreamingResponse":
      return "STREAMING";
    case "ToolCalling":
      return "PAUSED";
    case "Completed":
      return "COMPLETE";
    default:
      return "IDLE";
  }
}
