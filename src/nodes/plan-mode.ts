import type { GraphState, RunContext } from "../state.ts";
import { planModeRespond } from "../tools/conversation/plan-mode-respond.ts";
import type { Tool } from "../tools/runtime/tool.ts";

/** Whether this is plan mode: as the run says, else as the session was set earlier. */
export function isPlanning({ chat_mode }: Pick<GraphState, "chat_mode">, context: RunContext): boolean {
  return (context.chat_mode ?? chat_mode) === "plan";
}

/**
 * The tools for plan mode: those that change nothing and do not end the work, plus `plan_mode_respond`. MCP tools count
 * as changing unless their configuration marks them as read-only.
 */
export function planningTools(tools: readonly Tool[]): Tool[] {
  const reading = tools.filter(({ effect, inTurn }) => effect === "pure" && inTurn?.completes !== true);
  return tools.length === 0 || reading.some(({ name }) => name === planModeRespond.name)
    ? reading
    : [...reading, planModeRespond];
}
