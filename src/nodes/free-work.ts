import { runLoop } from "../loop/loop.ts";
import { promptsOf } from "../loop/services.ts";
import { freeWorkPrompt } from "../prompts/templates/free-work.ts";
import { planModePrompt } from "../prompts/templates/plan-mode.ts";
import type { WorkflowNode } from "../state.ts";
import { gatherContext } from "./turn/gather-context.ts";
import { nodeRequest, runContext } from "./turn/node-request.ts";
import { isPlanning } from "./plan-mode.ts";
import { endTurn } from "./turn/turn.ts";

/**
 * Answers with all tools the run may use; in plan mode only with those that change nothing. A run that answers a
 * question may also switch the mode.
 */
export const freeWork: WorkflowNode = async (state, config) => {
  const context = runContext(config);
  const prompts = promptsOf(config);
  const task = isPlanning(state, context) ? planModePrompt(prompts) : freeWorkPrompt(prompts);
  const outcome = await runLoop(
    nodeRequest("free_work", state, config, { task, gathered: await gatherContext(state, config) }),
    config,
  );
  const chat_mode = context.chat_mode ?? state.chat_mode;
  return { messages: outcome.messages, chat_mode, ...endTurn(state, outcome, config) };
};
