import { z } from "zod";
import type { RunStream } from "./run-stream.ts";
import { textOf, type StateMessage } from "./world.ts";

/** Characters that a text must exceed to be kept as a message (STOP-08). */
const longestDropped = 50;
const StopCompleted = z.looseObject({
  type: z.literal("stop_completed"),
  partial: z
    .looseObject({
      message_id: z.string(),
      content: z.string(),
      reasoning_content: z.string(),
      is_stored: z.boolean(),
    })
    .nullable(),
});
const Kept = z.looseObject({
  is_partial: z.boolean().optional(),
  stop_reason: z.string().optional(),
  reasoning_content: z.string().default(""),
});

/**
 * Compares what a reader of a stopped run has received with what is stored, byte for byte: every message it saw begin is in the
 * history as it was received; or it is the partial one of the stop event, which is stored when it is long (STOP-08).
 */
export function partialProblems(
  stream: RunStream,
  messages: readonly StateMessage[],
  compared: { received: number; stored: number },
): string[] {
  const stop = stream.custom.findLast(({ type }) => type === "stop_completed");
  const { partial } = stop === undefined ? { partial: null } : StopCompleted.parse(stop);
  const problems: string[] = [];
  for (const [id, received] of stream.messages) {
    const stored = messages.find((message) => message.id === id);
    const kept = Kept.parse(stored?.["additional_kwargs"] ?? {});
    const isLong = [received.content, received.reasoning].some((text) => Array.from(text).length > longestDropped);
    const isPartial = partial?.message_id === id;
    if (isPartial) {
      compared.received += 1;
      compared.stored += stored === undefined ? 0 : 1;
      if (partial.content !== received.content)
        problems.push(differs("the stop event", partial.content, received.content));
      if (partial.reasoning_content !== received.reasoning) problems.push("the stop event has other reasoning");
      if (partial.is_stored !== isLong) problems.push(`is_stored is ${partial.is_stored} for "${received.content}"`);
    }
    if (stored === undefined) {
      if (!isPartial || isLong) problems.push(`"${received.content}" was received and is not stored`);
      continue;
    }
    if (isPartial !== (kept.is_partial === true)) problems.push(`is_partial is ${kept.is_partial} in the history`);
    if (textOf(stored) !== received.content) problems.push(differs("the history", textOf(stored), received.content));
    if (kept.reasoning_content !== received.reasoning) problems.push("the history has other reasoning");
  }
  if (partial !== null && !stream.messages.has(partial.message_id))
    problems.push("the partial message was never received");
  return problems;
}

function differs(where: string, found: string, received: string): string {
  return `${where} has ${found.length} characters of ${received.length}, or others`;
}
