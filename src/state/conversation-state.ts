import { z } from "zod";

/** Phases of the agentic loop. */
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

/** Status of a tool call: requested, perhaps waiting for a person, running, then one of four ends. */
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
 * The conversation's state as its user sees it. `message_id` is the reply's, `null` until it has one. Of parallel
 * calls, `ToolCalling` shows the one that changed last.
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
