import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { isAIMessage } from "@millrace/engine/message-kinds";
import type { StopReason } from "@millrace/engine/run-events";
import { finalMessage } from "../loop/reply/final-text.ts";

/** A turn that something has ended before it had a reply. */
export interface MuteTurn {
  reason: StopReason | "abandoned" | "failed";
  /** Messages of the turn that no finished step has stored, each call with its result. */
  messages: readonly BaseMessage[];
  /** The run has brought a message of the user's, or their answer to a question. */
  isAsked: boolean;
  /** The user's words, which say in what language they are answered. */
  request: () => string;
}

/**
 * The closing message of a turn that a stop or a limit left without a reply: it says that the turn was stopped, why,
 * and what was done. None if no reply was due, or if the reply is whole.
 */
export function lastWords({ reason, messages, isAsked, request }: MuteTurn): AIMessage[] {
  if (reason === "abandoned" || reason === "failed") return [];
  const last = messages.at(-1);
  const isAnswered = last !== undefined && isAIMessage(last) && (last.tool_calls?.length ?? 0) === 0;
  if (reason !== "timeout" && (isAnswered || !isAsked)) return [];
  const words = finalMessage({ messages, last_error: null }, reason === "timeout" ? "timeout" : "cancelled", request());
  words.additional_kwargs["stop_reason"] = reason;
  return [words];
}
