import type { BaseMessage } from "@langchain/core/messages";
import type { z } from "zod";
import type { EffectClass, FileChange } from "@millrace/engine/storage/records";
import type { BackgroundAgents } from "../../agents/background.ts";
import type { Assignment, DelegationMode } from "../../agents/delegation.ts";
import type { ResultMode, RunContext } from "../../state.ts";
import { expectedFailure, type ToolResult } from "./result.ts";
import type { ToolkitServices } from "./toolkit-services.ts";

/** Kinds of work, for confirmation. */
export type Operation =
  | { type: "DeleteFile"; path: string }
  | { type: "DeleteFolder"; path: string; entries: number }
  | { type: "ModifyCriticalFile"; path: string }
  | { type: "BatchOperation"; count: number }
  | { type: "IrreversibleOperation"; path: string; overwrites: boolean }
  /** `what` is English; `what_zh` says it to Chinese readers. */
  | { type: "HighRiskOperation"; what: string; what_zh?: string | undefined }
  /** `preview` are the first lines that differ. */
  | { type: "EditDocument"; path: string; lines_added: number; lines_removed: number; preview: string }
  | { type: "Query" | "Create" | "SimpleModify" };

/** A call and what it may touch. */
export interface ToolContext {
  /** The folder that tools work in: an absolute path, links resolved. */
  workspace: string;
  sessionId: string;
  /** The run that the call belongs to; absent for a call by hand. */
  runId?: string;
  /** Names this very call in its session, the same after a crash; empty while `operation` looks. */
  callId: string;
  /** A crash came between an earlier start of this very call and its end: the effect may already be there. */
  repeated: boolean;
  /** What the call was about to change when it was first started, for `reconcile`. */
  begun?: FileChange;
  askAbout: AskAbout;
  server: ServerParts;
  conversation: ConversationParts;
  /** What toolkits keep open, as far as it belongs to the session. */
  toolkitServices: ToolkitServices;
  /** Characters that the model is shown of a result; absent: not known. */
  resultLength?: number | undefined;
  signal: AbortSignal;
}

/** The context of a call outside of any run, with only what is given. */
export function plainContext(
  given: Pick<ToolContext, "workspace" | "sessionId" | "callId" | "toolkitServices" | "signal"> & Partial<ToolContext>,
): ToolContext {
  const nothing = {
    askAbout: { criticalFiles: [], deletedTasks: false },
    server: {},
    conversation: {},
    repeated: false,
  };
  return { ...nothing, ...given };
}

/** What the operator wants people to be asked about besides what the rules say. */
export interface AskAbout {
  /** Changes of files that match one of these patterns. */
  criticalFiles: readonly string[];
  deletedTasks: boolean;
}

/** What the server keeps for tools; each part is absent where it has none. */
export interface ServerParts {
  /** The agents of the session in the background; agents have none. */
  background?: BackgroundAgents | undefined;
}

/** What a call knows of its conversation; nothing of a call by hand. */
export interface ConversationParts {
  /** What the session has said and done before this turn. */
  history?: SessionHistory | undefined;
  /** The document in the client's editor; absent where its text did not come with the run. */
  document?: EditorBuffer | undefined;
}

/** A document that the client's editor shows. `text` is what it holds now, changes of this run included. */
export interface EditorBuffer {
  /** As the client calls it; empty for one without a name. */
  path: string;
  /** The message of the user that the changes are for. */
  turn: string;
  isEditable: boolean;
  text(): Promise<string>;
}

/** What a tool may read again of a session: its messages, oldest first, and what a call gave, whole. */
export interface SessionHistory {
  messages: readonly BaseMessage[];
  /** By the ledger's name of the call; `undefined` when the session has no such result. */
  result(callId: string): Promise<ToolResult | undefined>;
}

/** What a call changes: what lies at a path of the workspace, where something lies, or the document in the editor by its result. */
export type Touched =
  | { kind: "write"; path: string; lastLink: "follow" | "keep" }
  | { kind: "move"; from: string; to: string }
  | { kind: "document" };

/** Whether an earlier start of a call had its effect. */
export type Reconciled = { kind: "done"; result: ToolResult } | { kind: "not_done" } | { kind: "unknown" };

/**
 * What a call asks the user. `options` are answers to choose from; any other words are an answer too. `client_tool`
 * asks the client's program: the words are the result of the call.
 */
export interface UserQuestion {
  kind: "followup" | "plan_review" | "client_tool";
  question: string;
  options: string[];
  /** Of a call that the client carries out: with what. */
  args?: Record<string, unknown>;
}

/** The work that a call hands to agents; `timeout_seconds` is the working time of each. */
export interface Delegation {
  mode: DelegationMode;
  subagents: Assignment[];
  timeout_seconds: number;
}

/** What a tool may know of the conversation that calls it: short ids of messages. */
export interface Conversation {
  /** Those that the model does not want to see any more, in the order in which it said so. */
  deletions: readonly string[];
  /** Those of all messages. */
  known: ReadonlySet<string>;
}

/**
 * What a call locks: `read:<absolute path>` (shared), `write:<absolute path>` (exclusive; a folder conflicts with
 * everything below it), or a class such as `web` or `tasks`.
 */
export type Resource = string;

/**
 * A tool as it is written down. `run` never sees unvalidated arguments; what it throws is a failure where it is an
 * expected one (an `AppError`, a code of the operating system), else a bug.
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
  /** What a call would do, which decides whether a person is asked. It looks without touching. Default a query. */
  operation?(input: z.infer<Schema>, context: ToolContext): Promise<Operation>;
  /** The kinds of work that `operation` may find, for who looks at the tool; left out: not known. */
  kinds?: readonly Operation["type"][];
  run(input: z.infer<Schema>, context: ToolContext): Promise<ToolResult>;
  /** `operation` looks at the argument `command` itself, so that the rule over commands of any tool leaves it out. */
  checksCommand?: true;
  /** What it changes in the workspace. What is named here is kept before the call, and can be undone. */
  touches?(input: z.infer<Schema>): Touched;
  /** It moves or renames something. */
  moves?: true;
  /** The file whose whole content a call replaces, and the new content. What nobody has read is not written over. */
  overwrites?(input: z.infer<Schema>): { path: string; content: string };
  /** The text that the file of `touches` would have after the call, for who decides about it. It looks without touching. */
  textAfter?(input: z.infer<Schema>, context: ToolContext): Promise<string | undefined>;
  /** For a `reconcilable` tool: looks, without touching, whether an earlier start that never ended had its effect. */
  reconcile?(input: z.infer<Schema>, context: ToolContext): Promise<Reconciled>;
  example?: { title: string; body: string };
  guideline?: string;
  /** The JSON Schema of its arguments where it came as one; without it `schema` is written as one. */
  parameters?: Record<string, unknown>;
  offered?: Offer;
  inTurn?: InTurn<Schema>;
}

/** When a run is offered a tool. */
export interface Offer {
  /** Whether a run gets it without naming it. Default true. */
  isDefault?: boolean;
  /** The tool of the default set that does the same: beside it this one is not told, but a model that knows it may call it. */
  twinOf?: string;
  /** Told only with these profiles; any model that knows it may call it. */
  profiles?: readonly string[];
  /** The run has to have a document open: without one it gets the tool only by name, and the tool says what is missing. */
  needs?: "open_document";
  /** Whether the server has what the tool needs. Without it a run gets the tool only by name, and the tool says what is missing. */
  isAvailable?(services: ToolkitServices): boolean;
  /** Whether the run does without the tool, even where it names it. */
  isLeftOut?(context: RunContext): boolean;
  /** Only while something of the conversation is not shown to the model. */
  onlyWhenHistoryCut?: true;
  /** It hands work to agents: agents have it never, and a run without agents only by name. */
  mayDelegate?: true;
}

/** What the loop does with a call in a turn. Where it asks, reads or delegates, `run` is not called. */
export interface InTurn<Schema extends z.ZodObject = z.ZodObject> {
  /** Asking it again and again with the same arguments is its purpose: such calls are no loop. */
  polling?: true;
  /** What becomes of a success: the model reads it and goes on (default), or it is the reply that ends the turn. */
  resultMode?: ResultMode;
  /** A success says that the whole task is done; it is refused while other calls are open or have failed. */
  completes?: true;
  /** The question that a call puts to the user; the answer is its result. */
  asks?(input: z.infer<Schema>): UserQuestion;
  /** The result where it can be read off the conversation. It has no effects. */
  reads?(input: z.infer<Schema>, conversation: Conversation): ToolResult;
  /** The work for agents, whose reports are the result; `undefined` where the call hands over none, but runs. */
  delegates?(input: z.infer<Schema>): Delegation | undefined;
}

/** One tool, whole. */
export interface Tool<Schema extends z.ZodObject = z.ZodObject> extends ToolDefinition<Schema> {
  timeoutSeconds: number;
  resources(input: z.infer<Schema>, context: ToolContext): Resource[];
  operation(input: z.infer<Schema>, context: ToolContext): Promise<Operation>;
}

/** A tool with what its definition leaves out; expected failures of `run` become results. */
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

/** Where tools come from that may come and go, such as those of other servers. */
export interface ToolSource {
  /**
   * The tools that can be offered now; the first call may take a while. What cannot be reached has none and is warned
   * about, not thrown; only an abort is.
   */
  tools(signal: AbortSignal): Promise<Tool[]>;
  /** Ends whatever it has opened; it has no tools any more. */
  close(): Promise<void>;
}
