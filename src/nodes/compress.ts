import type { BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import type { z } from "zod";
import { planCompaction, toleratedRatio, usage, type CompactionOptions } from "../context/compression/compaction.ts";
import { fitSummary, plainSummary, SummaryAnswer } from "../context/compression/compress.ts";
import { isAppError } from "@millrace/engine/errors/errors";
import { runLoop } from "../loop/loop.ts";
import { emit } from "../loop/request.ts";
import { profilesOf, promptsOf, rolesOf, servicesOf } from "../loop/services.ts";
import { withLearned } from "@millrace/models/registry/learned-limits";
import { modelLimits } from "@millrace/models/registry/model-limits";
import { compressPrompt, summariseNow } from "../prompts/templates/compress.ts";
import type { GraphState, WorkflowNode } from "../state.ts";
import { readReply } from "./intent/answer.ts";
import { nodeRequest, runContext } from "./turn/node-request.ts";

/** Seconds the model has for a summary; after that it is built by rule, so that a slow model delays no turn. */
const summarySeconds = 30;

/** Whether the turn begins with compression: the window is full, or the run asks for it. */
export function compressionDue(state: GraphState, config: LangGraphRunnableConfig): boolean {
  const context = runContext(config);
  // A partial reply is continued from its end; compression would cut it off.
  if (context.partial !== undefined) return false;
  if (onlyCompresses(config)) return true;
  const options = optionsOf(config);
  const isFull = usage(state.messages, state.conversation_summary, options.limit).level === "full";
  const isWanted = context.compress !== undefined && context.compress !== false;
  return (isFull || isWanted) && planCompaction(state.messages, state.conversation_summary, options) !== null;
}

/** Whether the run only compresses. */
export function onlyCompresses(config: LangGraphRunnableConfig): boolean {
  const { compress: wanted } = runContext(config);
  return typeof wanted === "object" && wanted.only;
}

/**
 * Replaces older messages in the model's view by a structured summary, at the level needed. The messages themselves
 * stay (law 5). If the summariser fails or is slow, the summary is built by rule. If that is not enough, a new
 * conversation is suggested.
 */
export const compress: WorkflowNode = async (state, config) => {
  const { messages, conversation_summary: before } = state;
  const options = optionsOf(config);
  const plan = planCompaction(messages, before, options);
  if (plan === null) return {};
  const { removed, through_message_id, shown, attempts, kept } = plan;
  const written = await summarise(removed, state, config);
  const summary = { ...fitSummary(written.summary), through_message_id, shown };
  const now = usage(messages, summary, options.limit);
  emit(config, {
    type: "compressed",
    messages: removed.length,
    kept: kept.length,
    level: shown.level,
    attempts,
    tokens_before: plan.tokensBefore,
    tokens_after: now.tokens,
    summary_by: written.by,
    summary,
  });
  if (now.ratio > toleratedRatio) {
    const { tokens, limit, ratio } = now;
    emit(config, { type: "suggest_new_conversation", tokens, limit, ratio, attempts });
  }
  return { conversation_summary: summary };
};

function optionsOf(config: LangGraphRunnableConfig): CompactionOptions {
  const { model, compress: wanted } = runContext(config);
  const { contextLimit, loadModel } = servicesOf(config);
  const name = model ?? rolesOf(config).main;
  const limit = withLearned(loadModel, name, modelLimits(name, contextLimit, profilesOf(config)).context);
  if (typeof wanted !== "object") return { limit };
  return { limit, keep: wanted.keep_recent, keepIds: wanted.keep_message_ids };
}

async function summarise(
  old: BaseMessage[],
  state: GraphState,
  config: LangGraphRunnableConfig,
): Promise<{ by: "model" | "plain"; summary: z.infer<typeof SummaryAnswer> }> {
  const previous = state.conversation_summary;
  const prompts = promptsOf(config);
  try {
    const request = nodeRequest("compress", { ...state, conversation_summary: null }, config, {
      task: compressPrompt(
        { previous: previous === null ? null : JSON.stringify(SummaryAnswer.parse(previous)) },
        prompts,
      ),
      instruction: prompts.text(summariseNow, {}),
      tools: [],
      history: old,
      silent: true,
      role: "compress",
    });
    const limits = {
      ...request.limits,
      timeout_seconds: Math.min(request.limits.timeout_seconds, summarySeconds),
      // The summary must cover all messages.
      max_history_rounds: null,
    };
    const { final_response } = await runLoop({ ...request, limits }, config);
    const answer = readReply("compress", final_response, SummaryAnswer, config);
    if (answer.kind === "value") return { by: "model", summary: answer.value };
    emit(config, { type: "retry", what: "summary", attempt: 1, reason: answer.problem });
  } catch (error) {
    // The user, asked about the failure, may have ended the turn.
    if (config.signal?.aborted === true || !isAppError(error) || error.code === "cancelled") throw error;
    emit(config, { type: "retry", what: "summary", attempt: 1, reason: error.message });
  }
  return { by: "plain", summary: plainSummary(old, previous) };
}
