import type { EffectClass } from "@millrace/engine/storage/records";
import type { Logger } from "@millrace/engine/logger";
import type { ToolStatistics } from "./tool-history.ts";
import type { InvokeCallbacks } from "../../callbacks/callback.ts";
import type { ToolResult } from "./result.ts";

/** A call as hooks see it, without arguments. `call_id` is the ledger's. */
export interface HookedCall {
  tool: string;
  effect: EffectClass;
  session_id: string;
  run_id: string;
  call_id: string;
}

/**
 * Observes tool calls that really run: not refused ones, nor those with a known result. It can neither change nor stop
 * them.
 */
export interface ToolHook {
  name: string;
  /** Called when the call starts, with its locks held. */
  before?(call: HookedCall): void | Promise<void>;
  /** Called after success, with the duration. */
  after?(call: HookedCall, result: ToolResult, milliseconds: number): void | Promise<void>;
  /** Called after a failure, stop or time-out. */
  onError?(call: HookedCall, result: ToolResult, milliseconds: number): void | Promise<void>;
}

/** Runs every hook in turn; errors go to `onProblem` and do not affect the call. */
export async function runHooks(
  hooks: readonly ToolHook[],
  work: (hook: ToolHook) => void | Promise<void>,
  onProblem: (hook: string, error: unknown) => void,
): Promise<void> {
  for (const hook of hooks) {
    try {
      await work(hook);
    } catch (error) {
      onProblem(hook.name, error);
    }
  }
}

/** A hook that logs the start (debug), success (info) and failure (error) of calls. */
export function toolLog(logger: Logger): ToolHook {
  const fields = ({ tool, session_id, run_id, call_id }: HookedCall) => ({ tool, session_id, run_id, call_id });
  return {
    name: "tool_log",
    before: (call) => logger.debug(fields(call), "tool_started"),
    after: (call, _result, milliseconds) =>
      logger.info({ ...fields(call), duration_ms: Math.round(milliseconds) }, "tool_ended"),
    onError: (call, result, milliseconds) =>
      logger.error(
        { ...fields(call), duration_ms: Math.round(milliseconds), code: result.code, error_type: result.errorType },
        "tool_failed",
      ),
  };
}

/** Counts calls per tool since the server's start, over all sessions. */
export interface ToolCounter {
  hook: ToolHook;
  /** `undefined` if the tool has not finished a call yet. */
  of(tool: string): ToolStatistics | undefined;
}

/** Creates a counter; it counts calls that really ran, at their end. */
export function createToolCounter(): ToolCounter {
  const byTool = new Map<string, ToolStatistics>();
  const count = (tool: string, isSuccess: boolean, milliseconds: number): void => {
    const known = byTool.get(tool) ?? { tool, calls: 0, successes: 0, failures: 0, total_ms: 0, longest_ms: 0 };
    byTool.set(tool, {
      tool,
      calls: known.calls + 1,
      successes: known.successes + (isSuccess ? 1 : 0),
      failures: known.failures + (isSuccess ? 0 : 1),
      total_ms: known.total_ms + milliseconds,
      longest_ms: Math.max(known.longest_ms, milliseconds),
    });
  };
  return {
    hook: {
      name: "tool_counter",
      after: ({ tool }, _result, milliseconds) => count(tool, true, milliseconds),
      onError: ({ tool }, _result, milliseconds) => count(tool, false, milliseconds),
    },
    of: (tool) => byTool.get(tool),
  };
}

/** The hook that calls the callbacks. */
export function callbackHook(invokeCallbacks: InvokeCallbacks): ToolHook {
  const about = ({ tool, call_id, session_id, run_id }: HookedCall) => ({ tool, call_id, session_id, run_id });
  const ended = (call: HookedCall, { success }: ToolResult, milliseconds: number): void =>
    invokeCallbacks("post_tool_call", { ...about(call), success, milliseconds });
  return {
    name: "callbacks",
    before: (call) => invokeCallbacks("pre_tool_call", about(call)),
    after: ended,
    onError: ended,
  };
}
