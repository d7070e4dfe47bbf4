import { randomUUID } from "node:crypto";
import { ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { strategies } from "@millrace/engine/errors/error-strategy";
import { resultText, type ToolResult } from "../../tools/runtime/result.ts";
import type { EndReason } from "../state.ts";

/** The call that a result answers. `whole`: under which name the ledger keeps all of the result. */
export interface AnsweredCall {
  id: string;
  name: string;
  whole?: string;
}

/**
 * The message the model reads: beginning and end of what the call gave, cut with a visible mark. Where the ledger keeps
 * the whole, the message says under which name, and with `isReadable` the model is told how to read it.
 */
export function toToolMessage(
  { call }: { call: AnsweredCall },
  result: ToolResult,
  maxLength: number,
  endsTurn?: EndReason,
  isReadable = false,
): ToolMessage {
  const text = resultText(result);
  const isCut = text.length > maxLength;
  const hint = isReadable && call.whole !== undefined ? `; read_history with result_id "${call.whole}" shows them` : "";
  return new ToolMessage({
    id: randomUUID(),
    tool_call_id: call.id,
    name: call.name,
    status: result.success ? "success" : "error",
    content: (isCut ? cutMiddle(text, maxLength, hint) : text).toWellFormed(),
    additional_kwargs: {
      timestamp: new Date().toISOString(),
      success: result.success,
      code: result.code,
      ...aboutFailure(result),
      ...(result.metrics === undefined ? {} : { metrics: result.metrics }),
      ...(result.session === undefined ? {} : { session: result.session }),
      ...(result.seen === undefined ? {} : { seen: result.seen }),
      ...(endsTurn === undefined ? {} : { ends_turn: endsTurn }),
      ...(result.operation === undefined ? {} : { operations: [result.operation] }),
      ...(isCut && call.whole !== undefined ? { whole_result: { id: call.whole, characters: text.length } } : {}),
    },
  });
}

/** Whether a message is a result of which the ledger keeps more than it shows. */
export function isCutResult(message: BaseMessage): boolean {
  return message.additional_kwargs["whole_result"] !== undefined;
}

/** What a failed call says of its failure beside the words, as run errors and HTTP errors do. */
function aboutFailure({ errorType, suggestion }: ToolResult): Record<string, unknown> {
  if (errorType === undefined) return {};
  const recoverable = strategies[errorType].class !== "fatal";
  return { errorType, recoverable, ...(suggestion === undefined ? {} : { suggestion }) };
}

/** A list ends with its last entries, an output with its error: a fifth of what is shown is the end. */
function cutMiddle(text: string, maxLength: number, hint: string): string {
  const end = Math.floor(maxLength / 5);
  const mark = `[… cut: ${text.length - maxLength} of ${text.length} characters are not shown${hint}]`;
  return `${text.slice(0, maxLength - end)}\n${mark}${end === 0 ? "" : `\n${text.slice(-end)}`}`;
}
