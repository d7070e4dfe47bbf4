import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { isAIMessage } from "@millrace/engine/message-kinds";
import type { StopReason } from "@millrace/engine/run-events";
import { finalMessage } from "../loop/reply/final-text.ts";

/** A turn that ended without a reply. */
export interface UnansweredTurn {
  reason: StopReason | "abandoned" | "failed";
  /** Messages that no finished step has stored; each call has its result. */
  messages: readonly BaseMessage[];
  /** The run's input has a message, or an answer to a question. */
  expectsReply: boolean;
  /** The user's message; the closing message is written in its language. */
  request: () => string;
}

/**
 * The closing message of a turn that a stop or a limit left without a reply: why it ended and what was done. Empty if
 * no reply was due, or if the reply is complete.
 */
export function closingMessage({ reason, messages, expectsReply, request }: UnansweredTurn): AIMessage[] {
  if (reason === "abandoned" || reason === "failed") return [];
  const last = messages.at(-1);
  const isAnswered = last !== undefined && isAIMessage(last) && (last.tool_calls?.length ?? 0) === 0;
  if (reason !== "timeout" && (isAnswered || !expectsReply)) return [];
  const message = finalMessage(
    { messages, last_error: null },
    reason === "timeout" ? "timeout" : "cancelled",
    request(),
  );
  message.additional_kwargs["stop_reason"] = reason;
  return [message];
}
