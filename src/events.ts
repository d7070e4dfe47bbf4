import type { AlternativePlan } from "@millrace/engine/errors/error-strategy";
import type { StopReason } from "@millrace/engine/run-events";
import type { CompressionLevel, ConversationState, LoopPhase, Orchestration, ToolCallStatus } from "./state.ts";

type TurnState = Orchestration["state"];

/** A page that a search of the web has found. */
type FoundOnWeb = Record<"title" | "snippet" | "url" | "date", string>;

/**
 * File changes in the workspace by anyone, and the watcher's status, sent first and on every change. Paths are relative
 * to the workspace, with slashes. `time` is ISO-8601.
 */
export type FileNews =
  | {
      type: "file_watch";
      /** `part`: changes in some folders are not reported; `reason` says why and what to do. */
      status: "on" | "part";
      folders: number;
      files: number;
      reason: string | null;
      time: string;
    }
  | ({ type: "file_changed"; is_directory: boolean; time: string } & (
      | { path: string; event_type: "created" | "modified" | "deleted" }
      | { path: string; event_type: "moved"; dest_path: string }
    ));

/** Events of the loop and the nodes on the `custom` stream, told apart by `type`. */
export type CustomEvent =
  | { type: "agentic_loop.started"; node: string; max_iterations: number }
  | {
      type: "agentic_loop.state_changed";
      from_state: LoopPhase;
      to_state: LoopPhase;
      iteration: number;
      /** The node that called the loop, and the turn's state. */
      context: { node: string; turn_state: TurnState };
    }
  /** After each model call; `total_tokens` is the sum of this loop so far. */
  | {
      type: "agentic_loop.iteration";
      iteration: number;
      max_iterations: number;
      tool_calls_count: number;
      total_tokens: number;
    }
  | { type: "agentic_loop.tool_called"; tool_call_id: string; tool_name: string; arguments: unknown }
  | {
      type: "tool_status";
      tool_call_id: string;
      tool_name: string;
      status: ToolCallStatus;
      /** Set on repeated events of a long call. */
      elapsed_seconds?: number;
    }
  | {
      type: "agentic_loop.tool_result";
      tool_call_id: string;
      tool_name: string;
      success: boolean;
      result_preview: string;
    }
  /** A call changed the workspace; the change can be undone. Line fields are `null` for files that are not text. */
  | {
      type: "operation_recorded";
      tool_call_id: string;
      operation_id: string;
      operation: "create" | "modify" | "delete" | "move" | "edit";
      path: string;
      lines_added: number | null;
      lines_removed: number | null;
      first_line: number | null;
    }
  /**
   * New text for the client's editor: `content` is all of it, `diff` the changed lines with their context, shortened by
   * `more` lines. `operation_id` is `null` if the edit cannot be undone.
   */
  | {
      type: "document_edited";
      tool_call_id: string;
      operation_id: string | null;
      path: string;
      instruction: string | null;
      content: string;
      lines_added: number;
      lines_removed: number;
      first_line: number | null;
      diff: { kind: "same" | "removed" | "added"; text: string; old_line: number | null; new_line: number | null }[];
      more: number;
    }
  | { type: "token_usage"; input_tokens: number; output_tokens: number; total_tokens: number; cached_tokens: number }
  /** Estimated tokens of the conversation before this reply: all of it, and the part the model saw. */
  | { type: "window_length"; tokens_used: number; pruned_tokens_used: number; conversation_round: number }
  /** The model is asked to continue an output that its length limit cut off. */
  | { type: "output_continued"; round: number; max_rounds: number }
  /** The model is asked again because its reply does not end the turn; `count` is that of this turn. */
  | { type: "forced_continuation"; kind: string; count: number }
  | { type: "loop_detected"; rule: string; stage: "warn" | "block" | "finish"; reason: string }
  | { type: "task_progress"; task: string; verdict: string; done: number; total: number; remaining: string[] }
  /** What this model call leaves out: messages that the model marked, and tool results. */
  | { type: "context_pruned"; deleted: number; cleared: number; tokens_before: number; tokens_after: number }
  | { type: "context_not_pruned"; reason: string }
  | {
      type: "context_usage";
      tokens: number;
      limit: number;
      ratio: number;
      level: "normal" | "hint" | "full";
      to_remove: number;
    }
  /**
   * A sub-agent starts or ends; `tool_call_id` is the call that it works for. Its own events in between carry `agent: {name, id}`. `cost` is `null` if no price is
   * known.
   */
  | { type: "subagent_started"; agent_id: string; agent_name: string; task: string; tool_call_id: string }
  | {
      type: "subagent_completed";
      agent_id: string;
      agent_name: string;
      success: boolean;
      end_reason: string;
      iterations: number;
      tokens: number;
      cost: number | null;
      duration_ms: number;
    }
  /** The web search before the model call. `engine` is `null` if there is none. */
  | { type: "web_search_started"; phase: "searching"; engine: string; query: string }
  | { type: "web_search_complete"; engine: string; count: number; results: FoundOnWeb[] }
  | { type: "web_search_error"; engine: string | null; error_type: string; message: string; suggestion: string | null }
  /** Documentation left out because the model's window has no room for it. */
  | { type: "documentation_dropped"; kinds: string[] }
  /** `left_out` older messages are not shown because of `max_history_rounds`. */
  | { type: "context_rounds"; left_out: number; max_rounds: number }
  /**
   * The view exceeded 90 % of the window and was shortened by this step; `early`: to the lower limit of a conversation
   * about a document. Estimated tokens.
   */
  | {
      type: "context_overflow";
      step: "early" | "history" | "system_text" | "turn" | "extreme";
      tokens_before: number;
      tokens_after: number;
      limit: number;
    }
  | { type: "context_warning"; source: string; reason: string }
  /** A request to a model, or its answer, is malformed; the turn goes on. */
  | { type: "context_check"; moment: string; severity: "warning" | "error"; problem: string }
  | { type: "retry"; what: string; attempt: number; reason: string }
  /** A model call failed and is repeated in another way, which the rest of the turn keeps. */
  | { type: "degraded"; plan: AlternativePlan | "without_streaming"; error_type: string; reason: string }
  /** The intent of the request and the route of the turn. */
  | {
      type: "intent";
      route: string;
      reason: string;
      kind: string;
      extent: string;
      priorities: string[];
      implicit_needs: string[];
    }
  | { type: "orchestration_changed"; from_state: TurnState; to_state: TurnState }
  /** The model differs from that of the last reply. */
  | { type: "model_changed"; from_model: string; to_model: string }
  | { type: "work_mode_changed"; from_mode: string; to_mode: string }
  /** A run starts or ends its work on the session; in between the mode cannot change. */
  | { type: "workflow_locked" | "workflow_unlocked" }
  /** The conversation's state changed; each attempt starts with `Idle`. */
  | ({ type: "conversation_state" } & ConversationState)
  | { type: "plan"; plan: unknown }
  /** The summary now stands for this many messages; tokens are estimates of the conversation. */
  | {
      type: "compressed";
      messages: number;
      kept: number;
      level: CompressionLevel;
      attempts: number;
      tokens_before: number;
      tokens_after: number;
      /** `plain`: built by rule because the model gave none in time. */
      summary_by: "model" | "plain";
      summary: unknown;
    }
  /** Compression missed its target; starting a new conversation is advised. */
  | { type: "suggest_new_conversation"; tokens: number; limit: number; ratio: number; attempts: number }
  | { type: "agentic_loop.complete"; iterations: number; total_tokens: number; end_reason: string; duration_ms: number }
  | { type: "agentic_loop.error"; error_type: string; message: string; suggestion?: string }
  | { type: "stop_requested"; stop_reason: StopReason }
  | {
      type: "stop_completed";
      stop_reason: StopReason;
      /** The part of the cut-off answer received so far; `null` if it had not begun. */
      partial: PartialAnswer | null;
      /** Calls of the stopped turn with and without a result. */
      tool_calls_executed: string[];
      tool_calls_pending: string[];
    };

/**
 * An answer that a stop cut off. `is_stored`: kept as a message of the session; short ones are only in this event.
 * `tokens_generated` is an estimate.
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
