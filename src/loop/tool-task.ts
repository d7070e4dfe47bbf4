import type { ErrorCode } from "../errors.ts";
import type { ToolResult } from "../tools/tool.ts";

/** One call as the model asked for it, on its way through `check_calls`. */
export interface RequestedCall {
  call: { id: string; name: string; args: Record<string, unknown> };
  /** The ledger's name for this call: the message's id and the call's place in it. Never used twice in a session. */
  ledger_id: string;
  iteration: number;
  /** Milliseconds since 1970 when the model asked. */
  asked_at: number;
  /** Beyond the number of calls that one reply may hold. */
  over_limit: boolean;
}

/** The same call with what was decided, on its way to `call_tool`. */
export interface ToolTask extends RequestedCall {
  outcome:
    /** `edited`: what a person made of the arguments; without it the model's own are run. */
    | { kind: "run"; edited?: Record<string, unknown> }
    | { kind: "answer"; result: ToolResult }
    | { kind: "refuse"; code: string; errorType: ErrorCode; reason: string }
    | { kind: "unknown_tool" };
  /** Milliseconds a person took to decide. */
  waited_ms: number;
}

/** Arguments that were not JSON stand as text under this name in the message, which must hold an object. */
export const brokenArguments = "__broken_arguments";

/** The arguments as the model wrote them: an object, or the text that could not be read. */
export function writtenArguments(args: Record<string, unknown>): unknown {
  return brokenArguments in args ? args[brokenArguments] : args;
}
