import { MessagesValue, StateSchema, type GraphNode } from "@langchain/langgraph";
import { z } from "zod";

/** Phases of the agentic loop (STATE-05, table 18.1). */
export const LoopPhase = z.enum([
  "idle",
  "preparing",
  "calling_llm",
  "streaming",
  "parsing",
  "executing",
  "waiting_tool",
  "aggregating",
  "complete",
  "cancelled",
  "error",
]);
export type LoopPhase = z.infer<typeof LoopPhase>;

/** How the session works: talk freely, or follow the workflow (STATE-12). */
export const WorkMode = z.enum(["free_chat", "workflow"]);
/** Whether the model may use tools at all (STATE-12): `chat` means none. */
export const ChatMode = z.enum(["agent", "chat"]);

/** One step of a plan (DECOMP-02). `depends_on` holds ids of earlier steps. */
export const PlanStep = z.object({
  id: z.string(),
  goal: z.string(),
  tool: z.string().nullable(),
  input: z.string(),
  depends_on: z.array(z.string()),
  status: z.enum(["pending", "running", "done", "failed", "skipped"]),
  result: z.string().nullable(),
});
export type PlanStep = z.infer<typeof PlanStep>;

/** The plan of a request: its steps and whether it is still worked on (DECOMP-02). */
export const TaskPlan = z.object({
  goal: z.string(),
  steps: z.array(PlanStep),
  status: z.enum(["active", "done", "failed"]),
});
export type TaskPlan = z.infer<typeof TaskPlan>;

/** Where the turn is (STATE-04). While `requires_confirm` is set, the next tool call is refused. */
export const Orchestration = z.object({
  state: z.enum(["idle", "plan", "tool_call", "tool_result", "decide", "respond"]),
  requires_confirm: z.boolean(),
  last_tool: z.string().nullable(),
  last_result_summary: z.string().nullable(),
});
export type Orchestration = z.infer<typeof Orchestration>;

/** The structured summary that stands for older messages (COMP-05), and the last message it speaks about. */
export const ConversationSummary = z.object({
  goal: z.string(),
  completed: z.array(z.string()),
  todo: z.array(z.string()),
  attempted_solutions: z.array(z.string()),
  current_problem: z.string(),
  key_decisions: z.array(z.string()),
  through_message_id: z.string(),
});
export type ConversationSummary = z.infer<typeof ConversationSummary>;

/** Where `intent` sends a turn (ARCH-19). */
export const Route = z.enum(["reply", "free_work", "plan", "action"]);
export type Route = z.infer<typeof Route>;

/**
 * What the workflow knows of a session (ARCH-02): its messages, and only references and light summaries beside them.
 * Bulk data is a file, named by its path.
 */
export const GraphState = new StateSchema({
  messages: MessagesValue,
  session_id: z.string().default(""),
  project_root: z.string().nullable().default(null),
  work_mode: WorkMode.default("free_chat"),
  chat_mode: ChatMode.default("agent"),
  workflow_locked: z.boolean().default(false),
  circuit_file_path: z.string().nullable().default(null),
  sim_result_path: z.string().nullable().default(null),
  design_goals_path: z.string().nullable().default(null),
  design_goals_summary: z.string().nullable().default(null),
  last_metrics: z.record(z.string(), z.number()).nullable().default(null),
  error_context: z.string().nullable().default(null),
  conversation_summary: ConversationSummary.nullable().default(null),
  orchestration: Orchestration.default({
    state: "idle",
    requires_confirm: false,
    last_tool: null,
    last_result_summary: null,
  }),
  route: Route.nullable().default(null),
  task_plan: TaskPlan.nullable().default(null),
});
export type GraphState = typeof GraphState.State;

/** Limits of one loop call (LOOP-03); times in seconds, sizes in characters. */
export const LoopLimits = z.object({
  max_iterations: z.number().int().positive().default(15),
  soft_warning_at: z.number().int().positive().default(10),
  max_tool_calls_per_turn: z.number().int().positive().default(5),
  timeout_seconds: z.number().positive().default(300),
  max_parallel_tools: z.number().int().positive().default(3),
  max_tool_retries: z.number().int().nonnegative().default(2),
  tool_result_max_length: z.number().int().positive().default(5000),
});
export type LoopLimits = z.infer<typeof LoopLimits>;

/** What a run may choose (API-03). `model` is a `provider:name`; `mode` overrules what `intent` would decide. */
export const RunContext = z.object({
  model: z.string().min(1).optional(),
  temperature: z.number().min(0).max(2).optional(),
  work_mode: WorkMode.optional(),
  chat_mode: ChatMode.optional(),
  mode: Route.optional(),
  tools: z.array(z.string()).optional(),
  selected_tool: z.string().optional(),
  compress: z.boolean().optional(),
  /** What to do with the reply that a stop left unfinished at the end of the session (STOP-09). */
  partial: z.enum(["continue", "regenerate"]).optional(),
  limits: LoopLimits.partial().optional(),
});
export type RunContext = z.infer<typeof RunContext>;

/** A node of the workflow: a plain function from state to a part of the state (ARCH-11). */
export type WorkflowNode = GraphNode<{ InputSchema: typeof GraphState; OutputSchema: typeof GraphState }>;
