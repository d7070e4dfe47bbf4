import { isAIMessage, isToolMessage, type BaseMessage } from "@langchain/core/messages";
import { textOf } from "@millrace/engine/message-kinds";
import type { LoopState } from "../state.ts";

/** A tool call and its outcome; `result` and `success` are `null` until it has one. */
export interface RecordedCall {
  id: string;
  name: string;
  arguments: Record<string, unknown>;
  result: string | null;
  success: boolean | null;
}

/** A loop call's report. Times are Unix ms; `worked_ms` excludes waiting for people and downtime. */
export interface LoopReport {
  is_running: boolean;
  is_cancelled: boolean;
  tool_calls_history: RecordedCall[];
  /** Text and reasoning of the last reply; empty if there is none. */
  final_response: string;
  final_reasoning: string;
  /** Errors of failed calls, then of the last failed model call. */
  errors: string[];
  start_time: number;
  end_time: number | null;
  worked_ms: number;
}

type Reported = Pick<LoopState, "messages" | "phase" | "end_reason" | "last_error" | "start_time" | "worked_ms">;

/** Builds the report from the state. */
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
