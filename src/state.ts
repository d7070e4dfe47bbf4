import { MessagesValue, StateSchema, type GraphNode } from "@langchain/langgraph";
import { z } from "zod";
import { UserContext } from "./user-context.ts";

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

/** Where one tool call is (STATE-06): asked for, perhaps waiting for a person, running, and one of four ends. */
export const ToolCallStatus = z.enum([
  "pending",
  "awaiting_confirmation",
  "awaiting_answer",
  "executing",
  "completed",
  "failed",
  "blocked",
  "cancelled",
]);
export type ToolCallStatus = z.infer<typeof ToolCallStatus>;

/**
 * What a session shows to its user (STATE-01). `message_id` is that of the reply, `null` until the reply has one; of
 * several calls that run side by side, `ToolCalling` speaks of the one that changed last.
 */
export const ConversationState = z.discriminatedUnion("state", [
  z.object({ state: z.literal("Idle") }),
  z.object({ state: z.literal("WaitingAIResponse"), message_id: z.string().nullable() }),
  z.object({ state: z.literal("StreamingResponse"), message_id: z.string().nullable(), accumulated_text: z.string() }),
  z.object({
    state: z.literal("ToolCalling"),
    message_id: z.string().nullable(),
    tool_call_id: z.string(),
    tool_name: z.string(),
    status: ToolCallStatus,
  }),
  z.object({ state: z.literal("Completed"), message_id: z.string().nullable() }),
  z.object({
    state: z.literal("Error"),
    message_id: z.string().nullable(),
    error: z.string(),
    recoverable: z.boolean(),
    suggestion: z.string().optional(),
  }),
]);
export type ConversationState = z.infer<typeof ConversationState>;

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

/** How hard a compression cuts (COMP-09): each level keeps fewer messages, and less of them. */
export const CompressionLevel = z.enum(["normal", "secondary", "extreme"]);
export type CompressionLevel = z.infer<typeof CompressionLevel>;

/** What is shown beside a summary, as it was decided when the summary was written (COMP-06..09, COMP-12). */
export const Compaction = z.object({
  level: CompressionLevel,
  /** Messages that are shown although the summary speaks about them. */
  kept_message_ids: z.array(z.string()),
  /** The last message of that time; what was said later is shown as it is. */
  last_message_id: z.string(),
  /** The last messages that are not shown, a line each. */
  earlier: z.array(z.string()),
  /** What the messages that are not shown have changed in the workspace, the last change of each path. */
  operations: z.array(z.string()),
});
export type Compaction = z.infer<typeof Compaction>;

/** The structured summary that stands for older messages (COMP-05), and the last message it speaks about. */
export const ConversationSummary = z.object({
  goal: z.string(),
  completed: z.array(z.string()),
  todo: z.array(z.string()),
  attempted_solutions: z.array(z.string()),
  current_problem: z.string(),
  key_decisions: z.array(z.string()),
  through_message_id: z.string(),
  /** Absent in a summary that an older version of the program, or somebody else, has written. */
  shown: Compaction.optional(),
});
export type ConversationSummary = z.infer<typeof ConversationSummary>;

/** Where `intent` sends a turn (ARCH-19), and where a run may send it. */
export const Route = z.enum(["reply", "free_work", "plan", "action"]);
export type Route = z.infer<typeof Route>;
/** The same, with the question that goes before an unclear request (CLAR-01). */
export const TurnRoute = z.enum([...Route.options, "clarify"]);
export type TurnRoute = z.infer<typeof TurnRoute>;

/**
 * What a request wants (CLAR-02): its kind, how far the user expects it to go, what matters most, and needs that are not
 * said. The lists are in the user's words or in English.
 */
export const Intent = z.object({
  kind: z.enum(["information", "action", "emotional", "unclear", "multi_intent"]),
  extent: z.enum(["view", "partial", "full"]),
  priorities: z.array(z.string()),
  implicit_needs: z.array(z.string()),
});
export type Intent = z.infer<typeof Intent>;

/** What is assumed of an unclear request, and the one or two questions about it (CLAR-01), in the user's language. */
export const Clarification = z.object({
  guess: z.string(),
  defaults: z.array(z.string()),
  questions: z.array(z.string()).min(1).max(2),
  suggestions: z.array(z.string()),
});
export type Clarification = z.infer<typeof Clarification>;

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
  route: TurnRoute.nullable().default(null),
  /** What the request of this turn wants. */
  wanted: Intent.nullable().default(null),
  /** Set while an unclear request waits for its answer. */
  clarification: Clarification.nullable().default(null),
  task_plan: TaskPlan.nullable().default(null),
});
export type GraphState = typeof GraphState.State;

/** What a model costs, in money per million tokens; the unit is the run's own (LOOP-17). */
export const ModelPrice = z.object({ input: z.number().nonnegative(), output: z.number().nonnegative() });
export type ModelPrice = z.infer<typeof ModelPrice>;
/** Limits of one loop call (LOOP-03, GUARD-02..08); times in seconds, sizes in characters. */
export const LoopLimits = z.object({
  max_iterations: z.number().int().positive().default(15),
  soft_warning_at: z.number().int().positive().default(10),
  max_tool_calls_per_turn: z.number().int().positive().default(5),
  timeout_seconds: z.number().positive().default(300),
  max_parallel_tools: z.number().int().positive().default(3),
  max_tool_retries: z.number().int().nonnegative().default(2),
  /** How long each tool call may take at most, where that is not left to the tool (TOOL-09, CFG-03). */
  tool_timeout_seconds: z.number().positive().optional(),
  tool_result_max_length: z.number().int().positive().default(5000),
  /** Tokens of all model calls together; without it there is no such limit. */
  max_tokens: z.number().int().positive().optional(),
  /** Money of all model calls together, in the unit of `price`; it binds only where a price is known. */
  max_cost: z.number().positive().optional(),
  price: ModelPrice.optional(),
  safe_zone: z.union([z.number().positive(), z.string().regex(/^(?![0.]+\D*$)\d+(\.\d+)?[km]?$/iu)]).default("80k"),
  same_failure_limit: z.number().int().positive().default(2),
  stagnation_threshold: z.number().int().min(2).default(3),
  max_force_continue: z.number().int().nonnegative().default(5),
  /** Further pieces of one output that was cut at the length limit (LOOP-15). */
  generate_max_rounds: z.number().int().nonnegative().default(5),
  /** Further tries of a model call that could not be made; -1 is without limit within the time-out (LOOP-16). */
  agentic_connection_retries: z.number().int().min(-1).default(3),
});
export type LoopLimits = z.infer<typeof LoopLimits>;

/**
 * How far the model may go with tools in a turn on its own (C-04): several calls, side by side (`auto`); one after the
 * other (`serial`); one, and each further one only after the user's word (`guarded`, CONF-07).
 */
export const ToolPolicy = z.enum(["auto", "guarded", "serial"]);
export type ToolPolicy = z.infer<typeof ToolPolicy>;

/** What becomes of a tool's result (LOOP-23): it goes back to the model, or it is the reply that ends the turn. */
export const ResultMode = z.enum(["feed", "show"]);
export type ResultMode = z.infer<typeof ResultMode>;

/** From when on a request is broken into steps (DECOMP-01): its characters, and the tool calls it is estimated to cost. */
export const DecompositionLimits = z.object({
  max_characters: z.number().int().positive().default(300),
  max_estimated_calls: z.number().int().positive().default(10),
});
export type DecompositionLimits = z.infer<typeof DecompositionLimits>;

/** Whose identity the assistant has: one for each kind of work (PROMPT-18); usually `general`. */
export const Profile = z.enum(["general", "document", "chat", "circuit", "planner", "agentic"]);
export type Profile = z.infer<typeof Profile>;

/** Work that has a task text of its own (LOOP-21): better component values, or the repair of an error. */
export const PresetAction = z.enum(["optimize_parameters", "fix_error"]);
export type PresetAction = z.infer<typeof PresetAction>;

/** The agent of a background run (AGENT-04), whose words alone can be a yes, and whether it is told the user's rules. */
const RunAgent = z.object({
  name: z.string(),
  prompt: z.string(),
  user_request: z.string(),
  include_rules: z.boolean().optional(),
});

/** A compression that a person has asked for (COMP-11). It never goes beyond the level `normal`. */
export const CompressionRequest = z.object({
  /** The last messages that stay (COMP-04). */
  keep_recent: z.number().int().min(5).max(20).default(10),
  /** Older messages that stay as well, by id. */
  keep_message_ids: z.array(z.string().min(1).max(200)).max(100).default([]),
  /** The run does nothing else. */
  only: z.boolean().default(false),
});
export type CompressionRequest = z.infer<typeof CompressionRequest>;

/** What a run may choose (API-03). `model` is a `provider:name`, `role_models` those of parts of the work (LLM-21). */
export const RunContext = UserContext.extend({
  model: z.string().min(1).optional(),
  role_models: z.partialRecord(z.enum(["intent", "plan", "compress", "vision"]), z.string().min(1)).optional(),
  temperature: z.number().min(0).max(2).optional(),
  work_mode: WorkMode.optional(),
  chat_mode: ChatMode.optional(),
  /** Overrules what `intent` would decide. */
  mode: Route.optional(),
  /** A preset action instead of free input: the turn goes to `action` with the task text of that action (LOOP-21). */
  action_type: PresetAction.optional(),
  profile: Profile.optional(),
  agent: RunAgent.optional(),
  /** Whether the identity also stands before the task in the work mode `workflow` (PROMPT-02). Default yes. */
  identity_in_workflow: z.boolean().optional(),
  tools: z.array(z.string()).optional(),
  /** The tool that is called first and once; any other one then waits for the user's word (TOOL-08). */
  selected_tool: z.string().optional(),
  /** Several tool calls at once (`auto`, the default), one after the other, or each further one by the user's word. */
  tool_policy: ToolPolicy.optional(),
  /** Compress before the turn; with settings of its own where a person has chosen them. */
  compress: z.union([z.boolean(), CompressionRequest]).optional(),
  /** Whether an unclear request may be asked about (CLAR-01). Default yes. */
  clarify: z.boolean().optional(),
  /** From when on a request is broken into steps (DECOMP-01). */
  decomposition: DecompositionLimits.optional(),
  /** What becomes of tool results: `feed` goes back to the model, `show` is the reply and ends the turn (LOOP-23). */
  result_mode: ResultMode.optional(),
  /** The model that is asked where `model` cannot be: `provider:name` (ERR-03). */
  fallback_model: z.string().min(1).optional(),
  /** What becomes of a model call that fails for good: `ask` waits for a person to decide, `fail` ends the run (ERR-03). */
  on_error: z.enum(["ask", "fail"]).optional(),
  /** What to do with the reply that a stop left unfinished at the end of the session (STOP-09). */
  partial: z.enum(["continue", "regenerate"]).optional(),
  limits: LoopLimits.partial().optional(),
});
export type RunContext = z.infer<typeof RunContext>;

/** A node of the workflow: a plain function from state to a part of the state (ARCH-11). */
export type WorkflowNode = GraphNode<{ InputSchema: typeof GraphState; OutputSchema: typeof GraphState }>;
