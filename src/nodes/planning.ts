import type { GraphState, RunContext } from "../state.ts";
import { planModeRespond } from "../tools/conversation/plan-mode-respond.ts";
import type { Tool } from "../tools/runtime/tool.ts";

/** Whether the user only wants to plan: what this run says counts, else what the session was told before. */
export function isPlanning({ chat_mode }: Pick<GraphState, "chat_mode">, context: RunContext): boolean {
  return (context.chat_mode ?? chat_mode) === "plan";
}

/**
 * What of the tools may be called then: those that change nothing and do not end the work, and the one that shows the
 * plan. A tool of a server counts as one that changes something unless its configuration says that it only reads.
 */
export function planningTools(tools: readonly Tool[]): Tool[] {
  const reading = tools.filter(({ effect, inTurn }) => effect === "pure" && inTurn?.completes !== true);
  return tools.length === 0 || reading.some(({ name }) => name === planModeRespond.name)
    ? reading
    : [...reading, planModeRespond];
}
