import type { BaseMessage } from "@langchain/core/messages";
import type { z } from "zod";
import type { NotKept } from "@millrace/engine/sessions/questions/questions";
import type { EffectClass, FileChange } from "@millrace/engine/storage/records";
import type { BackgroundAgents } from "../../agents/background.ts";
import type { Assignment, DelegationMode } from "../../agents/delegation.ts";
import type { ResultMode, RunContext } from "../../state.ts";
import { expectedFailure, type ToolResult } from "./result.ts";
import type { ToolkitServices } from "./toolkit-services.ts";

/** Kinds of operations; they decide about approval. */
export type Operation =
  | { type: "DeleteFile"; path: string }
  /** `not_kept`: why it could not be undone; `null` if it could, absent if that was not looked at. */
  | { type: "DeleteFolder"; path: string; entries: number; not_kept?: NotKept | null | undefined }
  | { type: "ModifyCriticalFile"; path: string }
  | { type: "BatchOperation"; count: number }
  | { type: "IrreversibleOperation"; path: string; overwrites: boolean }
  /** `what` is English, `what_zh` Chinese. */
  | { type: "HighRiskOperation"; what: string; what_zh?: string | undefined }
  /** `preview` has the first changed lines. */
  | { type: "EditDocument"; path: string; lines_added: number; lines_removed: number; preview: string }
  | { type: "Query" | "Create" | "SimpleModify" };

/** The context of a tool call. */
export interface ToolContext {
  /** The workspace: an absolute path, links resolved. */
  workspace: string;
  sessionId: string;
  /** The call's run; absent for a call by hand. */
  runId?: string;
  /** The call's ledger id, stable after a crash; empty during `operation`. */
  callId: string;
  /** Whether this call was started before a crash: it may already have taken effect. */
  repeated: boolean;
  /** Asked right before what cannot be taken back: throws where another server goes on with the run; see `Ledger.confirm`. */
  confirm?: (() => Promise<void>) | undefined;
  /** The change recorded at the call's first start, for `reconcile`. */
  begun?: FileChange;
  extraApprovals: ExtraApprovals;
  server: ServerParts;
  conversation: ConversationParts;
  /** Toolkits' services, limited to the session of the run. */
  toolkitServices: ToolkitServices;
  /** Characters of a result shown to the model; absent: unknown. */
  resultLength?: number | undefined;
  signal: AbortSignal;
}

/** A context for calls outside any run. */
export function plainContext(
  given: Pick<ToolContext, "workspace" | "sessionId" | "callId" | "toolkitServices" | "signal"> & Partial<ToolContext>,
): ToolContext {
  const nothing = {
    extraApprovals: { criticalFiles: [], deletedTasks: false },
    server: {},
    conversation: {},
    repeated: false,
  };
  return { ...nothing, ...given };
}

/** The operator's additional approvals. */
export interface ExtraApprovals {
  /** Patterns of files whose changes need approval. */
  criticalFiles: readonly string[];
  deletedTasks: boolean;
}

/** Server features for tools; absent if not available. */
export interface ServerParts {
  /** The session's background agents; absent for sub-agents. */
  background?: BackgroundAgents | undefined;
}

/** The conversation of a call; empty for a call by hand. */
export interface ConversationParts {
  /** The session before this turn. */
  history?: SessionHistory | undefined;
  /** The client's editor document; absent if its text did not come with the run. */
  document?: EditorBuffer | undefined;
}

/** A document in the client's editor. `text` is its current content, with changes of this run. */
export interface EditorBuffer {
  /** The client's path; empty if unnamed. */
  path: string;
  /** Id of the user message the changes belong to. */
  turn: string;
  isEditable: boolean;
  text(): Promise<string>;
}

/** The session's messages, oldest first, and full results of calls. */
export interface SessionHistory {
  messages: readonly BaseMessage[];
  /** By ledger id; `undefined` if there is no such result. */
  result(callId: string): Promise<ToolResult | undefined>;
}

/** What a call changes: a path, a location (move), or the editor's document. */
export type Touched =
  | { kind: "write"; path: string; lastLink: "follow" | "keep" }
  | { kind: "move"; from: string; to: string }
  | { kind: "document" };

/** Whether an earlier start of a call took effect. */
export type Reconciled = { kind: "done"; result: ToolResult } | { kind: "not_done" } | { kind: "unknown" };

/**
 * A question to the user. `options` are suggested answers; free text is allowed. `client_tool` asks the client program:
 * its answer is the call's result.
 */
export interface UserQuestion {
  kind: "followup" | "plan_review" | "client_tool";
  question: string;
  options: string[];
  /** Arguments of a client tool's call. */
  args?: Record<string, unknown>;
}

/** Work delegated to agents; `timeout_seconds` is each agent's working time. */
export interface Delegation {
  mode: DelegationMode;
  subagents: Assignment[];
  timeout_seconds: number;
}

/** The calling conversation, as short message ids. */
export interface Conversation {
  /** Messages the model marked for deletion, in order. */
  deletions: readonly string[];
  /** All messages. */
  known: ReadonlySet<string>;
}

/**
 * A lock key: `read:<absolute path>` (shared), `write:<absolute path>` (exclusive; a folder conflicts with everything
 * below it), or a class such as `web` or `tasks`.
 */
export type Resource = string;

/**
 * The definition of a tool. `run` gets validated arguments; expected errors it throws (an `AppError`, a system error
 * code) become failures, others are bugs.
 */
interface ToolDefinition<Schema extends z.ZodObject> {
  name: string;
  /** For the model: what it does, when to use it, limits. */
  description: string;
  schema: Schema;
  effect: EffectClass;
  /** Default 60; files have 30, the editor 5, the network 10 for each request. */
  timeoutSeconds?: number;
  /** Default none. */
  resources?(input: z.infer<Schema>, context: ToolContext): Resource[];
  /** What a call would do; decides about approval. Must not change anything. Default a query. */
  operation?(input: z.infer<Schema>, context: ToolContext): Promise<Operation>;
  /** The kinds `operation` may return, for display; absent: unknown. */
  kinds?: readonly Operation["type"][];
  run(input: z.infer<Schema>, context: ToolContext): Promise<ToolResult>;
  /** `operation` checks the argument `command` itself, so the general rule for commands skips it. */
  checksCommand?: true;
  /** What it changes in the workspace; stored before the call for undo. */
  touches?(input: z.infer<Schema>): Touched;
  /** Endings of the files that its paths lead to, such as `cir`; none: they lead to folders. Default any file. */
  files?: readonly string[];
  /** It moves or renames something. */
  moves?: true;
  /** The file a call overwrites and its new content. A file the model has not read is not overwritten. */
  overwrites?(input: z.infer<Schema>): { path: string; content: string };
  /** The text of the `touches` file after the call, for previews. Must not change anything. */
  textAfter?(input: z.infer<Schema>, context: ToolContext): Promise<string | undefined>;
  /** For a `reconcilable` tool: whether an earlier unfinished start took effect. Must not change anything. */
  reconcile?(input: z.infer<Schema>, context: ToolContext): Promise<Reconciled>;
  example?: { title: string; body: string };
  guideline?: string;
  /** The original JSON Schema of the arguments, if there is one; default derived from `schema`. */
  parameters?: Record<string, unknown>;
  offered?: Offer;
  inTurn?: InTurn<Schema>;
}

/** When a run gets a tool. */
export interface Offer {
  /** Part of the default set. Default true. */
  isDefault?: boolean;
  /** A default tool that does the same: beside it this one is hidden, but callable. */
  twinOf?: string;
  /** Shown only with these profiles; callable with all. */
  profiles?: readonly string[];
  /** Requires an open document: otherwise the run gets it only by name, and its result says what is missing. */
  needs?: "open_document";
  /**
   * Whether the server has what the tool needs: otherwise the run gets it only by name, and its result says what is
   * missing.
   */
  isAvailable?(services: ToolkitServices): boolean;
  /** Whether this run must not have the tool, even by name. */
  isLeftOut?(context: RunContext): boolean;
  /** Only while part of the conversation is hidden from the model. */
  onlyWhenHistoryCut?: true;
  /** Delegates to agents: never available to agents, and by name only if there are no agents. */
  mayDelegate?: true;
}

/** How the loop treats a call. With `asks`, `reads` or `delegates`, `run` is not called. */
export interface InTurn<Schema extends z.ZodObject = z.ZodObject> {
  /** Repeated equal calls are its purpose, not a loop. */
  polling?: true;
  /** A success goes back to the model (default), or is the reply that ends the turn. */
  resultMode?: ResultMode;
  /** A success declares the whole task done; refused while other calls are open or failed. */
  completes?: true;
  /** The call's question to the user; the answer is its result. */
  asks?(input: z.infer<Schema>): UserQuestion;
  /** The result, if it only depends on the conversation. Without effects. */
  reads?(input: z.infer<Schema>, conversation: Conversation): ToolResult;
  /** The work for agents, whose reports are the result; `undefined` if the call runs itself. */
  delegates?(input: z.infer<Schema>): Delegation | undefined;
}

/** A tool with all defaults set. */
export interface Tool<Schema extends z.ZodObject = z.ZodObject> extends ToolDefinition<Schema> {
  timeoutSeconds: number;
  resources(input: z.infer<Schema>, context: ToolContext): Resource[];
  operation(input: z.infer<Schema>, context: ToolContext): Promise<Operation>;
}

/** Completes a definition with defaults; expected failures of `run` become results. */
export function defineTool<Schema extends z.ZodObject>(tool: ToolDefinition<Schema>): Tool<Schema> {
  const kinds = tool.operation === undefined ? (["Query"] as const) : tool.kinds;
  return {
    timeoutSeconds: 60,
    resources: () => [],
    operation: async () => ({ type: "Query" }),
    ...tool,
    kinds,
    async run(input, context) {
      try {
        return await tool.run(input, context);
      } catch (error) {
        const result = expectedFailure(error);
        if (result !== undefined) return result;
        throw error;
      }
    },
  };
}

/** A source of tools that may change, such as an MCP server. */
export interface ToolSource {
  /**
   * The currently available tools; the first call may be slow. Unreachable servers are logged and give none; only an
   * abort is thrown.
   */
  tools(signal: AbortSignal): Promise<Tool[]>;
  /** Closes everything it opened. */
  close(): Promise<void>;
}
