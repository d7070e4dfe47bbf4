import { z } from "zod";
import { errorCodes } from "../../errors/errors.ts";
import {
  type Assistant,
  JsonObject,
  MultitaskStrategy,
  PendingInterrupt,
  RunStatus,
  SessionStatus,
} from "../../storage/records.ts";
import { ThreadTtlShape } from "../requests/thread.ts";

/** The responses of the wire, as `/openapi.json` describes them. */
export const AssistantShape = z
  .object({
    assistant_id: z.string(),
    graph_id: z.string(),
    config: JsonObject,
    context: JsonObject,
    metadata: JsonObject,
    version: z.number().int(),
    name: z.string(),
    description: z.string().nullable(),
    created_at: z.string(),
    updated_at: z.string(),
  })
  .meta({ ref: "Assistant" });

/** One version of an assistant. */
export const AssistantVersionShape = AssistantShape.omit({ updated_at: true }).meta({ ref: "AssistantVersion" });

/** A session as the wire shows it; `values` and `interrupts` are missing before the first run. */
export const ThreadShape = z
  .object({
    thread_id: z.string(),
    created_at: z.string(),
    updated_at: z.string(),
    metadata: JsonObject,
    status: SessionStatus,
    config: JsonObject,
    values: JsonObject.optional(),
    interrupts: z.record(z.string(), z.array(PendingInterrupt)).optional(),
    ttl: ThreadTtlShape.optional(),
    state_updated_at: z.string().optional().describe("When the newest state was written"),
    error: z.object({ error: z.string(), message: z.string() }).optional().describe("How the last run failed"),
    extracted: JsonObject.optional().describe("What a search was to extract"),
  })
  .meta({ ref: "Thread" });

const CheckpointShape = z
  .object({
    thread_id: z.string(),
    checkpoint_ns: z.string(),
    checkpoint_id: z.string(),
    checkpoint_map: JsonObject.nullable(),
  })
  .meta({ ref: "Checkpoint" });

const TaskShape = z
  .object({
    id: z.string(),
    name: z.string(),
    path: z.array(z.unknown()),
    error: z.string().nullable(),
    interrupts: z.array(PendingInterrupt),
    checkpoint: JsonObject.nullable(),
    state: JsonObject.nullable().describe("A ThreadState, when subgraphs were asked for."),
    result: z.unknown(),
  })
  .meta({ ref: "ThreadTask" });

/** The state of a session at one checkpoint. */
export const ThreadStateShape = z
  .object({
    values: JsonObject,
    next: z.array(z.string()),
    tasks: z.array(TaskShape),
    metadata: JsonObject,
    created_at: z.string().nullable(),
    checkpoint: CheckpointShape.nullable(),
    parent_checkpoint: CheckpointShape.nullable(),
    interrupts: z.array(PendingInterrupt).optional(),
  })
  .meta({ ref: "ThreadState" });

/** The response to a state update: where the new checkpoint is. */
export const StateUpdateShape = z.object({ checkpoint: CheckpointShape, configurable: CheckpointShape });

/** A run as the wire shows it. */
export const RunShape = z
  .object({
    run_id: z.string(),
    thread_id: z.string(),
    assistant_id: z.string(),
    metadata: JsonObject,
    status: RunStatus,
    kwargs: JsonObject,
    multitask_strategy: MultitaskStrategy,
    cancel_reason: z.string().optional().describe("Why it was stopped, where somebody said so"),
    wait_reason: z
      .string()
      .optional()
      .describe("Why it does not begin or go on, where no server has its graph or its workspace"),
    wait_reason_zh: z.string().optional().describe("The same in Chinese"),
    created_at: z.string(),
    updated_at: z.string(),
  })
  .meta({ ref: "Run" });

/** An error, for clients that ask for JSON explicitly. */
export const ErrorShape = z
  .object({
    errorType: z.enum(errorCodes),
    message: z.string(),
    message_zh: z
      .string()
      .optional()
      .describe("The same for Chinese readers, where there is more to say than the code does"),
    suggestion: z.string().describe("What to do, in the language of Accept-Language: English or Chinese"),
    recoverable: z.boolean(),
    user_message: z.string().describe("For users, in the same language"),
    request_id: z.string(),
  })
  .meta({ ref: "Error" });

/** The values at the end of a run, or `__error__` when it failed, or `__interrupt__` among them when it waits. */
export const FinalValuesShape = JsonObject.nullable().meta({ ref: "FinalValues" });

/** Where the text of a prompt comes from. */
export const PromptSourceShape = z
  .enum(["builtin", "custom", "fallback"])
  .describe("`fallback`: there is an override that cannot be used, and the built-in text stands in for it");

/** What is wrong with the text of a prompt, or looks wrong. */
export const PromptProblemShape = z
  .object({
    kind: z.enum([
      "empty",
      "too_long",
      "unprintable",
      "unusable",
      "unknown_variable",
      "missing_variable",
      "missing_value",
      "odd_name",
    ]),
    severity: z.enum(["error", "warning"]).describe("An error means that it cannot be used"),
    message: z.string(),
    variable: z.string().optional(),
  })
  .meta({ ref: "PromptProblem" });

/** Whether a prompt's text can be used, and what it looks like. */
export const PromptVerdictShape = z
  .object({
    valid: z.boolean(),
    problems: z.array(PromptProblemShape),
    text: z.string(),
    values: z
      .record(z.string(), z.unknown())
      .nullable()
      .describe("What it had in the thread that was named; null: it stood in none of the thread's last requests"),
  })
  .meta({ ref: "PromptVerdict" });

/** The wire's Assistant, without its owner. */
export function toWireAssistant({ owner: _owner, is_system: _isSystem, ...assistant }: Assistant): object {
  return assistant;
}
