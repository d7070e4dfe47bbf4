import type { ToolHook } from "./hooks.ts";
import type { ToolStatistics } from "./tool-history.ts";

/** Counts calls by tool since the start of the server, over all sessions. */
export interface ToolCounter {
  hook: ToolHook;
  /** `undefined` for a tool that has not ended a call yet. */
  of(tool: string): ToolStatistics | undefined;
}

/** A counter at zero. It counts calls that really ran, when they end. */
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
