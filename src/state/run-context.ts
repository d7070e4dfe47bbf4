import { z } from "zod";
import { UserContext } from "../user-context.ts";
import { Route } from "./intent.ts";
import { LoopLimits } from "./loop-limits.ts";
import { ChatMode, WorkMode } from "./work-mode.ts";

/**
 * Tool calls the model may make on its own in a turn: several, in parallel (`auto`); several, one at a time (`serial`);
 * one, then each further one only after the user agrees (`guarded`).
 */
export const ToolPolicy = z.enum(["auto", "guarded", "serial"]);
export type ToolPolicy = z.infer<typeof ToolPolicy>;

/** A tool's result goes back to the model (`feed`), or is the reply that ends the turn (`show`). */
export const ResultMode = z.enum(["feed", "show"]);
export type ResultMode = z.infer<typeof ResultMode>;

/** How a model calls tools; profiles use the same names. */
const ToolProtocol = z.enum(["native", "text", "tags"]);

/**
 * The agent of a background run. Only `user_request` counts as the user's consent; `include_rules` gives the agent the
 * user's rules.
 */
const RunAgent = z.object({
  name: z.string(),
  prompt: z.string(),
  user_request: z.string(),
  include_rules: z.boolean().optional(),
});

/** A compression the user asked for. It never exceeds the level `normal`. */
export const CompressionRequest = z.object({
  /** Number of last messages to keep. */
  keep_recent: z.number().int().min(5).max(20).default(10),
  /** Ids of older messages to keep. */
  keep_message_ids: z.array(z.string().min(1).max(200)).max(100).default([]),
  /** The run only compresses. */
  only: z.boolean().default(false),
});
export type CompressionRequest = z.infer<typeof CompressionRequest>;

/**
 * Options of a run; toolkits add their own. `model` is `provider:name`, `role_models` are those of parts of the work.
 */
export const RunContext = UserContext.extend({
  model: z.string().min(1).optional(),
  role_models: z.partialRecord(z.enum(["intent", "plan", "compress", "vision"]), z.string().min(1)).optional(),
  temperature: z.number().min(0).max(2).optional(),
  /** Tokens per model answer, capped by its profile; a cut-off answer is continued. */
  max_tokens: z.number().int().min(1).max(1_000_000).optional(),
  /**
   * How the model calls tools: natively, in its text as `<tool_use>`, or in tags named after the tools; default by its
   * profile.
   */
  tool_protocol: ToolProtocol.optional(),
  /** Whether an optional thinking mode is on; default by the model's profile. */
  thinking: z.boolean().optional(),
  work_mode: WorkMode.optional(),
  chat_mode: ChatMode.optional(),
  /** Overrides the route `intent` would choose. */
  mode: Route.optional(),
  /** A toolkit's preset action: the turn goes to `action` with that action's task text. */
  action_type: z.string().optional(),
  /** The identity profile, one per kind of work; default `general`. */
  profile: z.string().optional(),
  /** The client's own system text instead of the identity; the identity's protective rules still apply. */
  system: z.string().trim().min(1).max(200_000).optional(),
  agent: RunAgent.optional(),
  /** Whether the work mode `workflow` includes the identity. Default true. */
  identity_in_workflow: z.boolean().optional(),
  /** Toolkit names; default all of the server's. `tools` then selects from these. */
  toolkits: z.array(z.string()).max(1_000).optional(),
  /**
   * Web search for this turn: `general`, the server's engine, before the model call; `provider`, by the model's vendor;
   * `off`, none. Default: the model may call `web_search` if there is an engine.
   */
  web_search: z.enum(["general", "provider", "off"]).optional(),
  tools: z.array(z.string()).max(1_000).optional(),
  /** The tool to call first, once; any other call then needs the user's consent. */
  selected_tool: z.string().optional(),
  /** Default `auto`. */
  tool_policy: ToolPolicy.optional(),
  /** The user's preferences for the identity: standards, parts, habits. */
  user_preferences: z.string().trim().min(1).max(2000).optional(),
  /** The user's name. */
  user_name: z.string().trim().min(1).max(200).optional(),
  /** Compress before the turn, optionally with settings. */
  compress: z.union([z.boolean(), CompressionRequest]).optional(),
  /** Whether to ask about unclear requests. Default true. */
  clarify: z.boolean().optional(),
  /** Default `feed`. */
  result_mode: ResultMode.optional(),
  /** The model to use if `model` is unavailable: `provider:name`. */
  fallback_model: z.string().min(1).optional(),
  /** After a final model failure: `ask` waits for a person's decision, `fail` ends the run. */
  on_error: z.enum(["ask", "fail"]).optional(),
  /** What to do with the session's partial last reply. */
  partial: z.enum(["continue", "regenerate"]).optional(),
  limits: LoopLimits.partial().optional(),
});
export type RunContext = z.infer<typeof RunContext>;
