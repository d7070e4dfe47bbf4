import { runLoop } from "../loop/loop.ts";
import { freeWorkPrompt } from "../prompts/free-work.ts";
import type { WorkflowNode } from "../state.ts";
import { lastToolOf, nodeRequest } from "./node-request.ts";

/** Answers with the whole tool set that the run may use. */
export const freeWork: WorkflowNode = async (state, config) => {
  const { messages } = await runLoop(nodeRequest("free_work", state, config, { task: freeWorkPrompt() }), config);
  return {
    messages,
    orchestration: { ...state.orchestration, ...lastToolOf(messages), state: "respond" },
  };
};
