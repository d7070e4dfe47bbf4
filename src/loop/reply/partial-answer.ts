import { randomUUID } from "node:crypto";
import { AIMessage } from "@langchain/core/messages";
import { countText } from "../../context/tokens/tokens.ts";
import type { PartialAnswer } from "../../events.ts";
import type { StopReason } from "@millrace/engine/run-events";
import type { StreamedAnswer } from "../progress.ts";

/** Partial answers up to this many characters are not stored. */
const shortAnswer = 50;

function characters(text: string): number {
  return Array.from(text).length;
}

/**
 * The streamed part of a cut-off answer as a message. An id in `taken` is replaced: servers that repeat ids must not
 * overwrite earlier messages.
 */
export function toPartial(
  answer: StreamedAnswer,
  reason: StopReason,
  taken: ReadonlySet<string | undefined>,
): { message: AIMessage; partial: PartialAnswer; calls: string[] } {
  const id = answer.id === undefined || taken.has(answer.id) ? randomUUID() : answer.id;
  const calls = answer.calls.map((call) => call.id ?? call.name);
  const partial: PartialAnswer = {
    message_id: id,
    content: answer.text,
    reasoning_content: answer.reasoning,
    is_partial: true,
    stop_reason: reason,
    tokens_generated: countText(answer.text + answer.reasoning),
    is_stored: Math.max(characters(answer.text), characters(answer.reasoning)) > shortAnswer,
  };
  const message = new AIMessage({
    id,
    content: answer.text,
    additional_kwargs: {
      timestamp: new Date().toISOString(),
      is_partial: true,
      stop_reason: reason,
      ...(answer.reasoning === "" ? {} : { reasoning_content: answer.reasoning }),
      tokens_generated: partial.tokens_generated,
      tool_calls_pending: answer.calls,
    },
  });
  return { message, partial, calls };
}
