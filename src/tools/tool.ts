import type { z } from "zod";
import type { ErrorCode } from "../errors.ts";
import type { EffectClass } from "../storage/records.ts";
import type { TaskStore } from "../storage/storage.ts";

/** The uniform result of every tool (TOOL-05). A failing tool sets `errorType`; `content` is what the model reads. */
export interface ToolResult {
  success: boolean;
  code: string;
  message: string;
  data?: unknown;
  content?: string;
  errorType?: ErrorCode;
}

/** Kinds of work, for confirmation (CONF-02). */
export type Operation =
  | { type: "DeleteFile"; path: string }
  | { type: "DeleteFolder"; path: string; entries: number }
  | { type: "ModifyCriticalFile"; path: string }
  | { type: "BatchOperation"; count: number }
  | { type: "IrreversibleOperation"; path: string; overwrites: boolean }
  | { type: "HighRiskOperation"; what: string }
  | { type: "Query" | "Create" | "SimpleModify" };

/** What a tool may touch: the workspace folder (an absolute path, links resolved), the planner's tasks, and the signal. */
export interface ToolContext {
  workspace: string;
  tasks: TaskStore;
  sessionId: string;
  /** A crash came between an earlier start of this very call and its end: the effect may already be there. */
  repeated: boolean;
  signal: AbortSignal;
}

/**
 * What a call locks (QUEUE-03): `read:<absolute path>` (shared), `write:<absolute path>` (exclusive; a folder conflicts with
 * everything below it), or a class such as `web` or `tasks`.
 */
export type Resource = string;

/**
 * One tool, whole (TOOL-01). `run` never sees unvalidated arguments; it answers with a result, and throws only for bugs.
 * `operation` looks without touching: it decides whether a person is asked.
 */
export interface Tool<Schema extends z.ZodObject = z.ZodObject> {
  name: string;
  /** For the model: what it does, when to use it, limits. */
  description: string;
  schema: Schema;
  effect: EffectClass;
  /** TOOL-09: files 30 s, network 10 s, other 60 s. */
  timeoutSeconds: number;
  resources(input: z.infer<Schema>, context: ToolContext): Resource[];
  operation(input: z.infer<Schema>, context: ToolContext): Promise<Operation>;
  run(input: z.infer<Schema>, context: ToolContext): Promise<ToolResult>;
  example?: { title: string; body: string };
  guideline?: string;
  /** Whether a run gets it without naming it. Default true. */
  isDefault?: boolean;
}

/** Gives a tool its argument types from its schema. */
export function defineTool<Schema extends z.ZodObject>(tool: Tool<Schema>): Tool<Schema> {
  return tool;
}
