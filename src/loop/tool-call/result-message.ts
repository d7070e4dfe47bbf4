import { randomUUID } from "node:crypto";
import { ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { strategies } from "@millrace/engine/errors/error-strategy";
import { resultText, type ToolResult } from "../../tools/runtime/result.ts";
import type { EndReason } from "../state.ts";

/** The call a result belongs to. `whole`: the ledger id of the full result. */
export interface AnsweredCall {
  id: string;
  name: string;
  whole?: string;
}

/**
 * The tool message for the model: start and end of the result, with a mark where it was cut. If the ledger has the full
 * result the message names its id, and with `isReadable` says how to read it.
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

/** Whether the message is a cut result whose full text is in the ledger. */
export function isCutResult(message: BaseMessage): boolean {
  return message.additional_kwargs["whole_result"] !== undefined;
}

/** Error fields of a failed call, the same as in run and HTTP errors. */
function aboutFailure({ errorType, suggestion }: ToolResult): Record<string, unknown> {
  if (errorType === undefined) return {};
  const recoverable = strategies[errorType].class !== "fatal";
  return { errorType, recoverable, ...(suggestion === undefined ? {} : { suggestion }) };
}

/** Keeps the last fifth too: lists end with their last entries, output with its error. */
function cutMiddle(text: string, maxLength: number, hint: string): string {
  const end = Math.floor(maxLength / 5);
  const mark = `[… cut: ${text.length - maxLength} of ${text.length} characters are not shown${hint}]`;
  return `${text.slice(0, maxLength - end)}\n${mark}${end === 0 ? "" : `\n${text.slice(-end)}`}`;
}
