import { runLoop } from "../loop/loop.ts";
import { promptsOf } from "../loop/services.ts";
import { planPrompt } from "../prompts/templates/plan.ts";
import type { WorkflowNode } from "../state.ts";
import { writeTodos } from "../tools/conversation/write-todos.ts";
import type { Tool } from "../tools/runtime/tool.ts";
import { gatherContext } from "./turn/gather-context.ts";
import { nodeRequest, offeredTools, runContext } from "./turn/node-request.ts";
import { endTurn } from "./turn/turn.ts";

/**
 * Works by a plan: the model writes it with `write_todos` first, then carries it out in the same loop and keeps it up
 * to date. System text and tools stay the same throughout.
 */
export const plan: WorkflowNode = async (state, config) => {
  const gathered = await gatherContext(state, config);
  const tools = withTodos(offeredTools(runContext(config), config));
  const request = nodeRequest("plan", state, config, {
    task: planPrompt(promptsOf(config)),
    tools,
    gathered,
    role: "plan",
  });
  const outcome = await runLoop(request, config);
  return { messages: outcome.messages, ...endTurn(state, outcome, config) };
};

/** Adds `write_todos` to the tools a run names; a run without tools stays without. */
function withTodos(tools: Tool[]): Tool[] {
  return tools.length === 0 || tools.some(({ name }) => name === writeTodos.name) ? tools : [...tools, writeTodos];
}
