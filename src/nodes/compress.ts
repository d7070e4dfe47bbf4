import type { BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import type { z } from "zod";
import { compressible, fitSummary, plainSummary, SummaryAnswer, usage } from "../context/compress.ts";
import { isAppError } from "../errors.ts";
import { runLoop } from "../loop/loop.ts";
import { emit } from "../loop/request.ts";
import { promptsOf, servicesOf } from "../loop/services.ts";
import { modelLimits } from "../models/model-limits.ts";
import { compressPrompt } from "../prompts/compress.ts";
import type { GraphState, WorkflowNode } from "../state.ts";
import { readJson } from "./answer.ts";
import { nodeRequest, runContext } from "./node-request.ts";

/** Whether a turn should begin with compression: when the window fills (COMP-01), or on request. */
export function compressionDue(state: GraphState, config: LangGraphRunnableConfig): boolean {
  const context = runContext(config);
  // A partial reply is taken up where it is; compressing would end the turn.
  if (context.partial !== undefined) return false;
  if (context.compress === true) return compressible(state.messages, state.conversation_summary).length > 0;
  const services = servicesOf(config);
  const limit = modelLimits(context.model ?? services.defaultModel, services.contextLimit).context;
  return (
    usage(state.messages, state.conversation_summary, limit).level === "full" &&
    compressible(state.messages, state.conversation_summary).length > 0
  );
}

/**
 * Replaces what the model sees of older messages by a structured summary (COMP-03, COMP-05). The messages themselves stay
 * (law 5). When the summariser fails, a plain summary is made without it.
 */
export const compress: WorkflowNode = async (state, config) => {
  const old = compressible(state.messages, state.conversation_summary);
  const through = old.at(-1)?.id;
  if (through === undefined) return {};
  const summary = { ...fitSummary(await summarise(old, state, config)), through_message_id: through };
  emit(config, { type: "compressed", messages: old.length, summary });
  return { conversation_summary: summary };
};

async function summarise(
  old: BaseMessage[],
  state: GraphState,
  config: LangGraphRunnableConfig,
): Promise<z.infer<typeof SummaryAnswer>> {
  const previous = state.conversation_summary;
  try {
    const request = nodeRequest("compress", { ...state, conversation_summary: null }, config, {
      task: compressPrompt({ previous: previous === null ? null : JSON.stringify(previous) }, promptsOf(config)),
      tools: [],
      history: old,
      silent: true,
    });
    const { final_response } = await runLoop(request, config);
    const answer = readJson(final_response, SummaryAnswer);
    if (answer.kind === "value") return answer.value;
    emit(config, { type: "retry", what: "summary", attempt: 1, reason: answer.problem });
  } catch (error) {
    // A person who was asked about the failure may have ended the turn.
    if (config.signal?.aborted === true || !isAppError(error) || error.code === "cancelled") throw error;
    emit(config, { type: "retry", what: "summary", attempt: 1, reason: error.message });
  }
  return plainSummary(old, previous);
}
