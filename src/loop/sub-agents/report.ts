import { isAIMessage, isToolMessage, type BaseMessage } from "@langchain/core/messages";
import { textOf } from "@millrace/engine/message-kinds";
import type { LoopState } from "../state.ts";

/** One call of a loop and what came of it; `result` and `success` are `null` while it has none. */
export interface RecordedCall {
  id: string;
  name: string;
  arguments: Record<string, unknown>;
  result: string | null;
  success: boolean | null;
}

/** What a loop call has done so far. Times are milliseconds since 1970; `worked_ms` has no waits for a person and no downtime. */
export interface LoopReport {
  is_running: boolean;
  is_cancelled: boolean;
  tool_calls_history: RecordedCall[];
  /** The words and the reasoning of the last reply; empty without one. */
  final_response: string;
  final_reasoning: string;
  /** Of the calls that failed, then of the last model call that did. */
  errors: string[];
  start_time: number;
  end_time: number | null;
  worked_ms: number;
}

type Reported = Pick<LoopState, "messages" | "phase" | "end_reason" | "last_error" | "start_time" | "worked_ms">;

/** Reads the report off the state, where all of it stands already: nothing is recorded a second time. */
export function loopReport(state: Reported, now: number): LoopReport {
  const isOver = state.end_reason !== null;
  const calls = recordedCalls(state.messages);
  const last = state.messages.findLast((message) => isAIMessage(message));
  const reasoning = last?.additional_kwargs["reasoning_content"];
  const failed = calls.flatMap(({ success, result }) => (success === false && result !== null ? [result] : []));
  return {
    is_running: !isOver && state.phase !== "idle",
    is_cancelled: state.end_reason === "cancelled",
    tool_calls_history: calls,
    final_response: textOf(last?.content ?? ""),
    final_reasoning: typeof reasoning === "string" ? reasoning : "",
    errors: [...failed, ...(state.last_error === null ? [] : [state.last_error])],
    start_time: state.start_time,
    end_time: isOver ? now : null,
    worked_ms: state.worked_ms,
  };
}

function recordedCalls(messages: readonly BaseMessage[]): RecordedCall[] {
  const results = new Map(
    messages.filter((message) => isToolMessage(message)).map((result) => [result.tool_call_id, result]),
  );
  return messages
    .filter((message) => isAIMessage(message))
    .flatMap(({ tool_calls = [] }) => tool_calls)
    .map(({ id = "", name, args }) => {
      const result = results.get(id);
      return {
        id,
        name,
        arguments: args,
        result: result === undefined ? null : textOf(result.content),
        success: result === undefined ? null : result.status !== "error",
      };
    });
}
