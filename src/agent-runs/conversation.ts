import { strategies } from "@millrace/engine/errors/error-strategy";
import { userText } from "@millrace/engine/errors/error-texts";
import { AppError, errorCodes } from "@millrace/engine/errors/errors";
import type { ConversationState, ToolCallStatus } from "../state.ts";
import type { RunError } from "@millrace/engine/storage/records";

/** The name of a conversation's state. */
export type ConversationName = ConversationState["state"];

/**
 * Allowed state changes. They include an error before the first token, a reply that begins with a tool call or was not
 * streamed, and a stop from any active state, which keeps or drops the partial reply.
 */
export const conversationMoves: Readonly<Record<ConversationName, readonly ConversationName[]>> = {
  Idle: ["WaitingAIResponse"],
  WaitingAIResponse: ["StreamingResponse", "ToolCalling", "Error", "Completed", "Idle"],
  StreamingResponse: ["StreamingResponse", "ToolCalling", "Completed", "Error", "Idle"],
  ToolCalling: ["ToolCalling", "StreamingResponse", "Error", "Completed", "Idle"],
  Completed: ["Idle"],
  Error: ["StreamingResponse", "WaitingAIResponse", "Idle"],
};

/** Changes the state. Throws `invalid_state` for a change that `conversationMoves` does not allow. */
export function nextConversation(from: ConversationState, to: ConversationState): ConversationState {
  if (conversationMoves[from.state].includes(to.state)) return to;
  throw new AppError("invalid_state", `The conversation cannot go from ${from.state} to ${to.state}.`);
}

/** An event of a run that may change its conversation. */
export type ConversationEvent =
  /** A run has started on the user's message. */
  | { kind: "sent" }
  /** The first chunk of a reply has arrived. */
  | { kind: "first_chunk"; message_id: string | null; text: string }
  | { kind: "call"; tool_call_id: string; tool_name: string; status: ToolCallStatus }
  /** The run ended with a reply or a question. */
  | { kind: "replied"; message_id: string | null }
  /** The run was stopped. `message_id` is the kept partial reply, `null` if none is kept. */
  | { kind: "stopped"; message_id: string | null }
  | { kind: "failed"; error: RunError };

/** The state after an event; the same object if nothing changed for the user. */
export function conversationAfter(state: ConversationState, event: ConversationEvent): ConversationState {
  if (event.kind === "sent") return nextConversation(state, { state: "WaitingAIResponse", message_id: null });
  // Events that arrive after the end or the stop are ignored.
  if (state.state === "Idle" || state.state === "Completed" || state.state === "Error") return state;
  switch (event.kind) {
    case "first_chunk": {
      const { message_id, text } = event;
      if (state.state === "StreamingResponse" && state.message_id === message_id) return state;
      return nextConversation(state, { state: "StreamingResponse", message_id, accumulated_text: text });
    }
    case "call": {
      const { kind: _, ...call } = event;
      const isKnown =
        state.state === "ToolCalling" && state.tool_call_id === call.tool_call_id && state.status === call.status;
      return isKnown ? state : nextConversation(state, { state: "ToolCalling", message_id: state.message_id, ...call });
    }
    case "replied":
      return nextConversation(state, { state: "Completed", message_id: event.message_id ?? state.message_id });
    case "stopped":
      return nextConversation(
        state,
        event.message_id === null ? { state: "Idle" } : { state: "Completed", message_id: event.message_id },
      );
    case "failed":
      return nextConversation(state, failedState(event.error, state.message_id));
  }
}

/** The state after a failed run: what happened and, if known, what to do. */
export function failedState({ error, message }: RunError, messageId: string | null): ConversationState {
  const code = errorCodes.find((known) => known === error);
  return {
    state: "Error",
    message_id: messageId,
    error: code === undefined ? `${error}: ${message}` : message,
    // Errors thrown by a graph do not say whether a retry helps.
    recoverable: code !== undefined && strategies[code].class !== "fatal",
    ...(code === undefined ? {} : { suggestion: userText(code, "en").suggestion }),
  };
}

/** The conversation as a reader of the stream sees it: `PAUSED` while tools run. */
export const streamStates = ["IDLE", "STREAMING", "PAUSED", "COMPLETE"] as const;

/** Maps a conversation's state to the stream's. */
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
