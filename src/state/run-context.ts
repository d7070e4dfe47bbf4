import { z } from "zod";
import { UserContext } from "../user-context.ts";
import { Route } from "./intent.ts";
import { LoopLimits } from "./loop-limits.ts";
import { ChatMode, WorkMode } from "./work-mode.ts";

/**
 * How far the model may go with tools in a turn on its own: several calls, side by side (`auto`); one after the other
 * (`serial`); one, and each further one only after the user's word (`guarded`).
 */
export const ToolPolicy = z.enum(["auto", "guarded", "serial"]);
export type ToolPolicy = z.infer<typeof ToolPolicy>;

/** What becomes of a tool's result: it goes back to the model, or it is the reply that ends the turn. */
export const ResultMode = z.enum(["feed", "show"]);
export type ResultMode = z.infer<typeof ResultMode>;

/** How a model calls tools, as profiles name it. */
const ToolProtocol = z.enum(["native", "text", "tags"]);

/** The agent of a background run, whose words alone can be a yes, and whether it is told the user's rules. */
const RunAgent = z.object({
  name: z.string(),
  prompt: z.string(),
  user_request: z.string(),
  include_rules: z.boolean().optional(),
});

/** A compression that a person has asked for. It never goes beyond the level `normal`. */
export const CompressionRequest = z.object({
  /** The last messages that stay. */
  keep_recent: z.number().int().min(5).max(20).default(10),
  /** Older messages that stay as well, by id. */
  keep_message_ids: z.array(z.string().min(1).max(200)).max(100).default([]),
  /** The run does nothing else. */
  only: z.boolean().default(false),
});
export type CompressionRequest = z.infer<typeof CompressionRequest>;

/** What a run may choose besides what toolkits add. `model` is a `provider:name`, `role_models` those of parts of the work. */
export const RunContext = UserContext.extend({
  model: z.string().min(1).optional(),
  role_models: z.partialRecord(z.enum(["intent", "plan", "compress", "vision"]), z.string().min(1)).optional(),
  temperature: z.number().min(0).max(2).optional(),
  /** Tokens of one answer of the model, at most those of its profile; of one that is cut off it is asked for the rest. */
  max_tokens: z.number().int().min(1).max(1_000_000).optional(),
  /** How the model calls tools: by itself, or in its text as `<tool_use>` or in tags of their names; else by its profile. */
  tool_protocol: ToolProtocol.optional(),
  /** Whether a model thinks that can do both; left out, its profile says what is usual. */
  thinking: z.boolean().optional(),
  work_mode: WorkMode.optional(),
  chat_mode: ChatMode.optional(),
  /** Overrules what `intent` would decide. */
  mode: Route.optional(),
  /** A preset action of a toolkit instead of free input: the turn goes to `action` with the task text of that action. */
  action_type: z.string().optional(),
  /** Whose identity the assistant has: one for each kind of work; usually `general`. */
  profile: z.string().optional(),
  /** A system text of the client's own in place of the identity; what protects an identity goes with it too. */
  system: z.string().trim().min(1).max(200_000).optional(),
  agent: RunAgent.optional(),
  /** Whether the identity also stands before the task in the work mode `workflow`. Default yes. */
  identity_in_workflow: z.boolean().optional(),
  /** Toolkits by name; without it all that the server has. `tools` then names some of theirs. */
  toolkits: z.array(z.string()).max(1_000).optional(),
  /**
   * Who searches the web for this turn: `general`, the server's engine, before the model is asked; `provider`, the
   * model's vendor by itself; `off`, nobody. Left out, the model may call `web_search` where there is an engine.
   */
  web_search: z.enum(["general", "provider", "off"]).optional(),
  tools: z.array(z.string()).max(1_000).optional(),
  /** The tool that is called first and once; any other one then waits for the user's word. */
  selected_tool: z.string().optional(),
  /** Several tool calls at once (`auto`, the default), one after the other, or each further one by the user's word. */
  tool_policy: ToolPolicy.optional(),
  /** What the user likes, for the identity: standards, parts, habits. */
  user_preferences: z.string().trim().min(1).max(2000).optional(),
  /** How the user is called. */
  user_name: z.string().trim().min(1).max(200).optional(),
  /** Compress before the turn; with settings of its own where a person has chosen them. */
  compress: z.union([z.boolean(), CompressionRequest]).optional(),
  /** Whether an unclear request may be asked about. Default yes. */
  clarify: z.boolean().optional(),
  /** What becomes of tool results: `feed` goes back to the model, `show` is the reply and ends the turn. */
  result_mode: ResultMode.optional(),
  /** The model that is asked where `model` cannot be: `provider:name`. */
  fallback_model: z.string().min(1).optional(),
  /** What becomes of a model call that fails for good: `ask` waits for a person to decide, `fail` ends the run. */
  on_error: z.enum(["ask", "fail"]).optional(),
  /** What to do with the reply that a stop left unfinished at the end of the session. */
  partial: z.enum(["continue", "regenerate"]).optional(),
  limits: LoopLimits.partial().optional(),
});
export type RunContext = z.infer<typeof RunContext>;
