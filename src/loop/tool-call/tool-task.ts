import type { ChatGenerationChunk } from "@langchain/core/outputs";
import type { ErrorCode } from "@millrace/engine/errors/errors";
import { brokenArguments } from "@millrace/models/messages/broken-arguments";
import type { Tool, UserQuestion } from "../../tools/runtime/tool.ts";
import type { ApprovalQuestion } from "./approval-request.ts";
import type { ToolResult } from "../../tools/runtime/result.ts";

/** A requested call on its way to `check_calls` or `call_tool`. */
export interface RequestedCall {
  call: { id: string; name: string; args: Record<string, unknown> };
  /** The call's ledger id: message id and index. Unique in a session. */
  ledger_id: string;
  iteration: number;
  /** Above the limit of calls per reply. */
  over_limit: boolean;
  /** Requested while only the chosen tool is callable. */
  forced?: true;
  /** The length limit cut the reply within this call. */
  cut?: true;
  /** A call of the same reply may start agents. */
  beside_agents?: true;
}

/** The decision about a call. */
export type Outcome =
  /**
   * `edited`: arguments changed by the user. `approved`: the hash of the approved effect; nothing else may run. `over`:
   * the content of a file that may be overwritten.
   */
  | { kind: "run"; edited?: Record<string, unknown>; approved?: string; over?: string | undefined }
  | { kind: "answer"; result: ToolResult }
  | { kind: "refuse"; code: string; errorType: ErrorCode; reason: string }
  | { kind: "unknown_tool" };

/** The ruling on a call with effects: an outcome, or an approval to ask for. */
export type CallRuling = Outcome | { kind: "ask"; asked: ApprovalQuestion };

/**
 * The ruling on any call: it may also be a question to the user, or need consent as a further call of a guarded turn.
 */
export type Ruling = CallRuling | { kind: "question"; asked: UserQuestion } | { kind: "chain" };

/** Whether the ruling needs no answer of the user. */
export function isDecided(ruling: Ruling): ruling is Outcome {
  return ruling.kind !== "ask" && ruling.kind !== "question" && ruling.kind !== "chain";
}

/**
 * A call with the ruling made when it was fanned out. The ruling is stored with the task: an answer applies to the
 * question asked, whatever has changed since.
 */
export interface RuledCall extends RequestedCall {
  /** Absent in tasks stored by an older version. */
  ruling?: Ruling;
}

/** The call with its decision, on its way to `call_tool`. */
export interface ToolTask extends RequestedCall {
  outcome: Outcome;
}

/** The arguments as the model wrote them: an object, or unparsable text. */
export function writtenArguments(args: Record<string, unknown>): unknown {
  return brokenArguments in args ? args[brokenArguments] : args;
}

/** Calls of a streaming reply that run before it is over. */
export interface StartedCalls {
  /** Reads a chunk of the reply; begins the call that it completes, if that may run now. */
  read(chunk: ChatGenerationChunk): void;
  /** Tells the ledger ids of the calls, which are known once the reply is over. */
  identify(calls: readonly RequestedCall[]): void;
  /** Whether the call has begun and its result was not taken yet. */
  has(id: string): boolean;
  /** The tool, whose first run gives the early result if this very call has begun; later runs are retries. */
  planDelegation(tool: Tool, call: { id: string; args: Record<string, unknown> }): Tool;
  /** Waits for the calls that were not taken and stores their results: they do not run again after an approval. */
  keep(): Promise<void>;
  /** Cancels all calls that were not taken. */
  end(): void;
}
