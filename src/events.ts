import type { LoopPhase } from "./state.ts";

/** The stream modes a client may ask for (wire contract, section 3). */
export const streamModes = [
  "values",
  "updates",
  "messages",
  "messages-tuple",
  "custom",
  "debug",
  "tasks",
  "checkpoints",
] as const;
export type StreamMode = (typeof streamModes)[number];

/**
 * Everything a client may see of a run, in order. `id` is the run's own sequence, from 0. `namespace` is the path of
 * subgraphs (`node:task`), empty at the root. Values inside may hold live LangChain messages; `http/wire.ts` writes them
 * out, `storage/` keeps them by value.
 */
export type RunEvent = { id: number } & (
  | { event: "metadata"; data: { run_id: string; attempt: number } }
  | { event: "values"; namespace: string[]; data: Record<string, unknown> }
  | { event: "updates"; namespace: string[]; data: Record<string, unknown> }
  /** `messages-tuple`: one chunk or one whole message, with where it came from. */
  | { event: "messages"; namespace: string[]; data: unknown; metadata: Record<string, unknown> }
  /** `messages`: the three events of the older form. `messages/partial` holds only the new chunk; a reader adds up. */
  | { event: "messages/metadata"; namespace: string[]; data: Record<string, unknown> }
  | { event: "messages/partial"; namespace: string[]; data: unknown }
  | { event: "messages/complete"; namespace: string[]; data: unknown[] }
  | { event: "custom"; namespace: string[]; data: unknown }
  | { event: "debug"; namespace: string[]; data: unknown }
  | { event: "tasks"; namespace: string[]; data: unknown }
  | { event: "checkpoints"; namespace: string[]; data: unknown }
  | { event: "error"; data: { error: string; message: string } }
);

/** What the loop and the nodes tell on the `custom` stream (requirements, section 18.4). `type` says which. */
export type CustomEvent =
  | { type: "node_start" | "node_end"; node: string }
  | { type: "agentic_loop.started"; node: string; max_iterations: number }
  | { type: "agentic_loop.state_changed"; from_state: LoopPhase; to_state: LoopPhase; iteration: number }
  | { type: "agentic_loop.iteration"; iteration: number; max_iterations: number; tool_calls_count: number }
  | { type: "agentic_loop.tool_called"; tool_call_id: string; tool_name: string; arguments: unknown }
  | {
      type: "tool_status";
      tool_call_id: string;
      tool_name: string;
      status: "pending" | "executing" | "completed" | "failed" | "blocked" | "cancelled" | "awaiting_confirmation";
    }
  | {
      type: "agentic_loop.tool_result";
      tool_call_id: string;
      tool_name: string;
      success: boolean;
      result_preview: string;
    }
  | { type: "token_usage"; input_tokens: number; output_tokens: number; total_tokens: number }
  | {
      type: "context_usage";
      tokens: number;
      limit: number;
      ratio: number;
      level: "normal" | "hint" | "full";
      to_remove: number;
    }
  | { type: "retry"; what: string; attempt: number; reason: string }
  | { type: "intent"; route: string; reason: string }
  | { type: "plan"; plan: unknown }
  | { type: "compressed"; messages: number; summary: unknown }
  | { type: "agentic_loop.complete"; iterations: number; total_tokens: number; end_reason: string; duration_ms: number }
  | { type: "agentic_loop.error"; error_type: string; message: string }
  | { type: "stop_requested"; stop_reason: StopReason }
  | {
      type: "stop_completed";
      stop_reason: StopReason;
      /** What the model had said so far of the answer that was cut off; `null` when it had not begun one. */
      partial: PartialAnswer | null;
      /** Calls of the stopped turn that have a result, and those that have none (LOOP-22). */
      tool_calls_executed: string[];
      tool_calls_pending: string[];
    };

/** Why a run was stopped (STOP-02). */
export type StopReason = "user_requested" | "timeout" | "error" | "session_switch" | "app_shutdown";

/**
 * An answer that a stop cut off (STOP-07). `is_stored` says whether it is kept as a message of the session: short ones
 * are told here only (C-38). `tokens_generated` is an estimate.
 */
export interface PartialAnswer {
  message_id: string;
  content: string;
  reasoning_content: string;
  is_partial: true;
  stop_reason: StopReason;
  tokens_generated: number;
  is_stored: boolean;
}
