import type { ErrorCode } from "@millrace/engine/errors/errors";
import { brokenArguments } from "@millrace/models/messages/broken-arguments";
import type { UserQuestion } from "../../tools/runtime/tool.ts";
import type { Asked } from "./approval.ts";
import type { ToolResult } from "../../tools/runtime/result.ts";

/** One call as the model asked for it, on its way through `check_calls`. */
export interface RequestedCall {
  call: { id: string; name: string; args: Record<string, unknown> };
  /** The ledger's name for this call: the message's id and the call's place in it. Never used twice in a session. */
  ledger_id: string;
  iteration: number;
  /** Beyond the number of calls that one reply may hold. */
  over_limit: boolean;
  /** Asked for while the tool that the user has chosen is the only one. */
  forced?: true;
  /** The length limit cut the reply in the middle of this call. */
  cut?: true;
  /** A call of the same reply may ask for agents. */
  beside_agents?: true;
}

/** What is to become of a call. */
export type Outcome =
  /**
   * `edited`: what a person made of the arguments; without it the model's own are run. `approved`: the hash of what a
   * person said yes to; nothing else is run. `over`: the content of a file that the call may write over.
   */
  | { kind: "run"; edited?: Record<string, unknown>; approved?: string; over?: string | undefined }
  | { kind: "answer"; result: ToolResult }
  | { kind: "refuse"; code: string; errorType: ErrorCode; reason: string }
  | { kind: "unknown_tool" };

/** What the rules say of a call that would do something: an outcome, or the question whether it may run. */
export type CallRuling = Outcome | { kind: "ask"; asked: Asked };

/**
 * What the rules say of any call: one may itself be a question to the user, and a further one of a guarded turn waits
 * for the word that confirms.
 */
export type Ruling = CallRuling | { kind: "question"; asked: UserQuestion } | { kind: "chain" };

/**
 * A call on its way to `check_calls`, with what the rules said when it was fanned out. The ruling is stored with the
 * task: an answer counts for the question that was put, whatever has changed since.
 */
export interface RuledCall extends RequestedCall {
  /** Missing in a task that an older version of the program has stored. */
  ruling?: Ruling;
}

/** The same call with what was decided, on its way to `call_tool`. */
export interface ToolTask extends RequestedCall {
  outcome: Outcome;
}

/** The arguments as the model wrote them: an object, or the text that could not be read. */
export function writtenArguments(args: Record<string, unknown>): unknown {
  return brokenArguments in args ? args[brokenArguments] : args;
}
