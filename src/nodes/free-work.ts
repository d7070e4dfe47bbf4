import { runLoop } from "../loop/loop.ts";
import { promptsOf } from "../loop/services.ts";
import { freeWorkPrompt } from "../prompts/free-work.ts";
import type { WorkflowNode } from "../state.ts";
import { gatherContext } from "./gather-context.ts";
import { nodeRequest } from "./node-request.ts";
import { endTurn } from "./turn.ts";

/** Answers with the whole tool set that the run may use. */
export const freeWork: WorkflowNode = async (state, config) => {
  const task = freeWorkPrompt(promptsOf(config));
  const outcome = await runLoop(
    nodeRequest("free_work", state, config, { task, gathered: await gatherContext(state, config) }),
    config,
  );
  return { messages: outcome.messages, ...endTurn(state, outcome, config) };
};
