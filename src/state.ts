import { StateSchema, type GraphNode } from "@langchain/langgraph";
import { z } from "zod";
import { ConversationSummary } from "./state/conversation-summary.ts";
import { Clarification, Intent, TurnRoute } from "./state/intent.ts";
import { MessageList } from "@millrace/engine/message-list";
import { TaskPlan } from "./state/task-plan.ts";
import { ChatMode, WorkMode } from "./state/work-mode.ts";

// Re-exported so that the state and the run's context come from one module.
export { Compaction, CompressionLevel, ConversationSummary } from "./state/conversation-summary.ts";
export { ConversationState, LoopPhase, ToolCallStatus } from "./state/conversation-state.ts";
export { Clarification, Intent, Route, TurnRoute } from "./state/intent.ts";
export { LoopLimits } from "./state/loop-limits.ts";
export { CompressionRequest, ResultMode, RunContext, ToolPolicy } from "./state/run-context.ts";
export { TaskPlan } from "./state/task-plan.ts";
export { WorkMode } from "./state/work-mode.ts";

/** The turn's record. While `requires_confirm` is set, the next tool call is refused. */
export const Orchestration = z.object({
  state: z.enum(["idle", "plan", "tool_call", "tool_result", "decide", "respond"]),
  requires_confirm: z.boolean(),
  last_tool: z.string().nullable(),
  last_result_summary: z.string().nullable(),
});
export type Orchestration = z.infer<typeof Orchestration>;

/** The fields of the state that every session has; toolkits add their own. */
export const stateFields = {
  messages: MessageList,
  session_id: z.string().default(""),
  project_root: z.string().nullable().default(null),
  work_mode: WorkMode.default("free_chat"),
  chat_mode: ChatMode.default("agent"),
  /** The last error, as the tool reported it. */
  error_context: z.string().nullable().default(null),
  conversation_summary: ConversationSummary.nullable().default(null),
  orchestration: Orchestration.default({
    state: "idle",
    requires_confirm: false,
    last_tool: null,
    last_result_summary: null,
  }),
  route: TurnRoute.nullable().default(null),
  /** The intent of this turn's request. */
  wanted: Intent.nullable().default(null),
  /** Set while an unclear request waits for its answer. */
  clarification: Clarification.nullable().default(null),
  task_plan: TaskPlan.nullable().default(null),
};

/** A session's state: its messages, references and short summaries. Bulk data is in files, referred to by path. */
export const GraphState = new StateSchema(stateFields);
export type GraphState = typeof GraphState.State;

/** A node: a function from the state to an update. */
export type WorkflowNode = GraphNode<{ InputSchema: typeof GraphState; OutputSchema: typeof GraphState }>;
