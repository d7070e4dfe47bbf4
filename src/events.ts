import type { AlternativePlan } from "@millrace/engine/errors/error-strategy";
import type { StopReason } from "@millrace/engine/run-events";
import type { CompressionLevel, ConversationState, LoopPhase, Orchestration, ToolCallStatus } from "./state.ts";

type TurnState = Orchestration["state"];

/** A page that a search of the web has found. */
type FoundOnWeb = Record<"title" | "snippet" | "url" | "date", string>;

/**
 * What happens to the files of the workspace, whoever changes them, and, first and whenever it changes, how they are
 * watched. Paths are relative to the workspace, with slashes. `time` is ISO-8601.
 */
export type FileNews =
  | {
      type: "file_watch";
      /** `part`: what is in some folders is not told; `reason` says why, and what to do. */
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

/** What the loop and the nodes tell on the `custom` stream (section 18.4). `type` says which. */
export type CustomEvent =
  | { type: "agentic_loop.started"; node: string; max_iterations: number }
  | {
      type: "agentic_loop.state_changed";
      from_state: LoopPhase;
      to_state: LoopPhase;
      iteration: number;
      /** Who called the loop, and where its turn is now. */
      context: { node: string; turn_state: TurnState };
    }
  /** After each model call; the tokens are those of the whole loop so far. */
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
      /** Told again and again of a call that takes long. */
      elapsed_seconds?: number;
    }
  | {
      type: "agentic_loop.tool_result";
      tool_call_id: string;
      tool_name: string;
      success: boolean;
      result_preview: string;
    }
  /** A call changed the workspace; the change is kept and can be undone. Lines are those of a text, else `null`. */
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
   * The client's editor is to show this text from now on: `content` is all of it, `diff` the lines that differ with
   * those around them, of which `more` are left out. `operation_id` is `null` where it cannot be undone.
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
  /** Estimated tokens of the whole conversation, and of the part the model saw; the messages before this reply. */
  | { type: "window_length"; tokens_used: number; pruned_tokens_used: number; conversation_round: number }
  /** Asked for the next piece of an output that the length limit had cut. */
  | { type: "output_continued"; round: number; max_rounds: number }
  /** The model is asked again because its reply does not end the turn; `count` of this turn. */
  | { type: "forced_continuation"; kind: string; count: number }
  | { type: "loop_detected"; rule: string; stage: "warn" | "block" | "finish"; reason: string }
  | { type: "task_progress"; task: string; verdict: string; done: number; total: number; remaining: string[] }
  /** What the model does not see of the conversation in this call: messages that it marked, and tool results. */
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
   * An agent begins its part of the work of a call, and is through with it. In between, what it does is told with
   * `agent: {name, id}` beside the fields of each event. `cost` is `null` where no price is known.
   */
  | { type: "subagent_started"; agent_id: string; agent_name: string; task: string }
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
  /** The web is searched before the model is asked, and what came of it. `engine` is `null` where there is none. */
  | { type: "web_search_started"; phase: "searching"; engine: string; query: string }
  | { type: "web_search_complete"; engine: string; count: number; results: FoundOnWeb[] }
  | { type: "web_search_error"; engine: string | null; error_type: string; message: string; suggestion: string | null }
  /** There is no room for this documentation in the model's window, which it is therefore not given. */
  | { type: "documentation_dropped"; kinds: string[] }
  /** The user has said more since than is shown: messages that are left out for it. */
  | { type: "context_rounds"; left_out: number; max_rounds: number }
  /**
   * The view would have taken more than 90 % of the window: how far less is shown of it. `early`: more than a
   * conversation about a document should. Estimated tokens.
   */
  | {
      type: "context_overflow";
      step: "early" | "history" | "system_text" | "turn" | "extreme";
      tokens_before: number;
      tokens_after: number;
      limit: number;
    }
  | { type: "context_warning"; source: string; reason: string }
  /** What goes to a model, or came from it, is not as it should be; the turn goes on. */
  | { type: "context_check"; moment: string; severity: "warning" | "error"; problem: string }
  | { type: "retry"; what: string; attempt: number; reason: string }
  /** The model is asked in another way because the usual one failed; the rest of the turn stays with it. */
  | { type: "degraded"; plan: AlternativePlan | "without_streaming"; error_type: string; reason: string }
  /** What the request wants and where the turn goes with it. */
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
  /** Another model is asked than the one that answered last. */
  | { type: "model_changed"; from_model: string; to_model: string }
  | { type: "work_mode_changed"; from_mode: string; to_mode: string }
  /** A run begins to work on the session, and works on it no more; between them the mode is not switched. */
  | { type: "workflow_locked" | "workflow_unlocked" }
  /** The conversation has changed; the first one of each attempt is `Idle`, from where it begins. */
  | ({ type: "conversation_state" } & ConversationState)
  | { type: "plan"; plan: unknown }
  /** So many messages are no longer shown, and stand in the summary; tokens are estimates of the conversation. */
  | {
      type: "compressed";
      messages: number;
      kept: number;
      level: CompressionLevel;
      attempts: number;
      tokens_before: number;
      tokens_after: number;
      /** `plain`: made by rule, since the model gave none in time. */
      summary_by: "model" | "plain";
      summary: unknown;
    }
  /** Compression could not bring the conversation below its target; a new one would be better. */
  | { type: "suggest_new_conversation"; tokens: number; limit: number; ratio: number; attempts: number }
  | { type: "agentic_loop.complete"; iterations: number; total_tokens: number; end_reason: string; duration_ms: number }
  | { type: "agentic_loop.error"; error_type: string; message: string; suggestion?: string }
  | { type: "stop_requested"; stop_reason: StopReason }
  | {
      type: "stop_completed";
      stop_reason: StopReason;
      /** What the model had said so far of the answer that was cut off; `null` when it had not begun one. */
      partial: PartialAnswer | null;
      /** Calls of the stopped turn that have a result, and those that have none. */
      tool_calls_executed: string[];
      tool_calls_pending: string[];
    };

/**
 * An answer that a stop cut off. `is_stored` says whether it is kept as a message of the session: short ones are told
 * here only. `tokens_generated` is an estimate.
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
