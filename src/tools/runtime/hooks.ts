import type { EffectClass } from "@millrace/engine/storage/records";
import type { ToolResult } from "./tool.ts";

/** A call as hooks see it; arguments are not theirs to know. `call_id` is the ledger's. */
export interface HookedCall {
  tool: string;
  effect: EffectClass;
  session_id: string;
  run_id: string;
  call_id: string;
}

/**
 * Watches tool calls (there `before_tool_call`, `after_tool_call` and `on_tool_error`). It sees a call that really
 * runs: not one that was refused, and not one whose result was known. It can neither change nor stop it.
 */
export interface ToolHook {
  name: string;
  /** The call has its locks and begins. */
  before?(call: HookedCall): void | Promise<void>;
  /** It has ended well. `milliseconds` since it began. */
  after?(call: HookedCall, result: ToolResult, milliseconds: number): void | Promise<void>;
  /** It has failed, was stopped, or took too long. */
  onError?(call: HookedCall, result: ToolResult, milliseconds: number): void | Promise<void>;
}

/** Runs every hook in turn. What one throws is told to `onProblem` and is felt by no call. */
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
