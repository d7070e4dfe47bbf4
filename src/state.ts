import { StateSchema, type GraphNode } from "@langchain/langgraph";
import { z } from "zod";
import { ConversationSummary } from "./state/conversation-summary.ts";
import { Clarification, Intent, TurnRoute } from "./state/intent.ts";
import { MessageList } from "@millrace/engine/message-list";
import { TaskPlan } from "./state/task-plan.ts";
import { ChatMode, WorkMode } from "./state/work-mode.ts";

// The parts of the state and of a run's context, for import from one place.
export { Compaction, CompressionLevel, ConversationSummary } from "./state/conversation-summary.ts";
export { ConversationState, LoopPhase, ToolCallStatus } from "./state/conversation-state.ts";
export { Clarification, Intent, Route, TurnRoute } from "./state/intent.ts";
export { LoopLimits } from "./state/loop-limits.ts";
export { CompressionRequest, ResultMode, RunContext, ToolPolicy } from "./state/run-context.ts";
export { TaskPlan } from "./state/task-plan.ts";
export { WorkMode } from "./state/work-mode.ts";

/** Where the turn is. While `requires_confirm` is set, the next tool call is refused. */
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
  /** What failed last, in the words of the tool. */
  error_context: z.string().nullable().default(null),
  conversation_summary: ConversationSummary.nullable().default(null),
  orchestration: Orchestration.default({
    state: "idle",
    requires_confirm: false,
    last_tool: null,
    last_result_summary: null,
  }),
  route: TurnRoute.nullable().default(null),
  /** What the request of this turn wants. */
  wanted: Intent.nullable().default(null),
  /** Set while an unclear request waits for its answer. */
  clarification: Clarification.nullable().default(null),
  task_plan: TaskPlan.nullable().default(null),
};

/**
 * What the workflow knows of a session: its messages, and only references and light summaries beside them. Bulk data is
 * a file, named by its path.
 */
export const GraphState = new StateSchema(stateFields);
export type GraphState = typeof GraphState.State;

/** A node of the workflow: a plain function from state to a part of the state. */
export type WorkflowNode = GraphNode<{ InputSchema: typeof GraphState; OutputSchema: typeof GraphState }>;
