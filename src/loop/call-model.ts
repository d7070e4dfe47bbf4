import { randomUUID } from "node:crypto";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import {
  AIMessage,
  HumanMessage,
  SystemMessage,
  type AIMessageChunk,
  type AIMessageFields,
  type BaseMessage,
  type UsageMetadata,
} from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { repairToolPairs } from "../context/repair.ts";
import { textOf } from "../context/tokens.ts";
import { AppError, isAppError } from "../errors.ts";
import { closingNote } from "../prompts/closing-note.ts";
import { iterationWarning } from "../prompts/iteration-warning.ts";
import { modelTarget } from "../models/load-model.ts";
import { callWithRetry } from "../models/resilience.ts";
import { toLangChainTools } from "../tools/registry.ts";
import type { Tool } from "../tools/tool.ts";
import { remainingMs } from "./limits.ts";
import { withinTime } from "./within-time.ts";
import { brokenArguments } from "./tool-task.ts";
import { emit, loopCall, move, note, type LoopCall } from "./request.ts";
import { servicesOf, taskPathOf } from "./services.ts";
import type { LoopState, LoopUpdate } from "./state.ts";

/**
 * One model call, with its retries (law 4). A call that fails for good ends the run when nothing has been done yet, since
 * nothing is lost then; later in the loop it ends the turn with what is known.
 */
export async function callModel(state: LoopState, config: LangGraphRunnableConfig): Promise<LoopUpdate> {
  const call = loopCall(config);
  note(config, state.messages);
  const { progress } = servicesOf(config);
  let answer: AIMessageChunk;
  try {
    answer = await ask(state, call, config);
  } catch (error) {
    if (config.signal?.aborted !== true) progress?.answered(taskPathOf(config));
    if (config.signal?.aborted === true || !isAppError(error) || state.messages.length === 0) {
      move(config, config.signal?.aborted === true ? "cancel" : "error", state.phase, state.iteration_count);
      throw error;
    }
    const phase = move(config, "error", state.phase, state.iteration_count);
    emit(config, { type: "agentic_loop.error", error_type: error.code, message: error.message });
    return { phase, end_reason: "error", last_error: error.message };
  }
  const message = toMessage(answer, [...call.history, ...state.messages]);
  note(config, [message]);
  progress?.answered(taskPathOf(config));
  move(config, "response_complete", state.phase, state.iteration_count);
  const calls = message.tool_calls?.length ?? 0;
  const phase = move(config, calls > 0 ? "tools_detected" : "no_tools", state.phase, state.iteration_count);
  tellUsage(answer, calls, state, call, config);
  return {
    messages: [message],
    phase,
    total_tokens_used: state.total_tokens_used + (usageOf(answer)?.total_tokens ?? 0),
  };
}

async function ask(state: LoopState, call: LoopCall, config: LangGraphRunnableConfig): Promise<AIMessageChunk> {
  const services = servicesOf(config);
  const model = services.loadModel(call.model, call.temperature === undefined ? {} : { temperature: call.temperature });
  const prompt = promptOf(state, call);
  const bound = bindTools(model, state, call);
  move(config, "stream_started", state.phase, state.iteration_count);
  const time = Math.max(1000, remainingMs(state, call.limits, Date.now()));
  return await withinTime(time, config.signal, (signal) =>
    callWithRetry(
      async (attemptSignal) =>
        await bound.invoke(prompt, {
          ...config,
          signal: attemptSignal,
          runName: `llm_call_iter_${state.iteration_count}`,
        }),
      {
        signal,
        target: modelTarget(model),
        onRetry: (attempt, error) => emit(config, { type: "retry", what: "model", attempt, reason: error.message }),
      },
    ),
  );
}

/** The view: system text, the shown part of the history, this turn's messages, and the notes of this call (LOOP-18). */
export function promptOf(state: LoopState, call: LoopCall): BaseMessage[] {
  const shown = call.history.slice(state.view?.first ?? 0).filter((message) => !isEmptyPartial(message));
  const instruction = call.instruction === undefined ? [] : [new HumanMessage(call.instruction)];
  const body = repairToolPairs([...shown, ...instruction, ...state.messages]);
  return [new SystemMessage(call.system), ...body, ...notesFor(state, call).map((note) => new HumanMessage(note))];
}

/** A stop in the middle of the reasoning leaves a message without words, which some providers refuse. */
function isEmptyPartial(message: BaseMessage): boolean {
  return message.additional_kwargs["is_partial"] === true && textOf(message.content) === "";
}

/** The notes of this call only: they travel apart from the system text, which stays the same (LOOP-05, GUARD-10). */
function notesFor(state: LoopState, { tools, limits }: LoopCall): string[] {
  if (tools.length === 0) return [];
  if (state.closing !== null) return [closingNote({ reason: state.closing })];
  if (state.iteration_count < limits.soft_warning_at) return [];
  const used = state.iteration_count - 1;
  return [iterationWarning({ used, left: limits.max_iterations - used })];
}

function bindTools(model: BaseChatModel, state: LoopState, call: LoopCall): Pick<BaseChatModel, "invoke"> {
  const tools = offeredTools(state, call);
  if (tools.length === 0) return model;
  if (model.bindTools === undefined) {
    throw new AppError("unavailable_tool_mode", `The model ${call.model} cannot call tools.`, {
      suggestion: "Choose a model that can, or set chat_mode to chat.",
    });
  }
  const forced = call.forcedTool === undefined ? {} : { tool_choice: call.forcedTool };
  return model.bindTools(toLangChainTools(tools), forced);
}

function offeredTools(state: LoopState, call: LoopCall): Tool[] {
  if (state.closing !== null) return [];
  if (call.forcedTool === undefined) return call.tools;
  return state.iteration_count === 1 ? call.tools.filter((tool) => tool.name === call.forcedTool) : [];
}

/**
 * The answer as a whole message with ids that are its own: some servers repeat message ids or call ids, and two messages
 * with one id would replace each other.
 */
export function toMessage(answer: AIMessageChunk, earlier: readonly BaseMessage[]): AIMessage {
  const { id } = answer;
  const usage = usageOf(answer);
  const taken = id === undefined || earlier.some((message) => message.id === id);
  const seen = new Set<string>();
  const calls = (answer.tool_calls ?? []).map((call) => {
    const fresh = call.id !== undefined && call.id !== "" && !seen.has(call.id) ? call.id : `call_${randomUUID()}`;
    seen.add(fresh);
    return { ...call, id: fresh };
  });
  const broken = (answer.invalid_tool_calls ?? []).map((call) => ({
    name: call.name ?? "",
    args: { [brokenArguments]: call.args ?? "" },
    id: call.id !== undefined && !seen.has(call.id) ? call.id : `call_${randomUUID()}`,
    type: "tool_call" as const,
  }));
  const fields = {
    id: taken ? randomUUID() : id,
    content: answer.content,
    tool_calls: [...calls, ...broken],
    additional_kwargs: withoutRawCalls(answer.additional_kwargs),
    response_metadata: withoutUsage(answer.response_metadata),
    ...(usage === undefined ? {} : { usage_metadata: usage }),
  };
  // The constructor's type is computed from a message structure that we do not name; it takes these fields for all.
  return new AIMessage(fields as AIMessageFields);
}

function usageOf(answer: AIMessageChunk): UsageMetadata | undefined {
  return answer.usage_metadata;
}

/** Usage is said once, as `usage_metadata`; providers repeat it here up to three times. */
function withoutUsage(metadata: AIMessageChunk["response_metadata"]): Record<string, unknown> {
  const { usage: _usage, tokenUsage: _tokens, estimatedTokenUsage: _estimate, ...rest } = metadata;
  return rest;
}

function withoutRawCalls(kwargs: AIMessageChunk["additional_kwargs"]): AIMessage["additional_kwargs"] {
  const { tool_calls: _, ...rest } = kwargs;
  return { ...rest, timestamp: new Date().toISOString() };
}

function tellUsage(
  answer: AIMessageChunk,
  calls: number,
  state: LoopState,
  call: LoopCall,
  config: LangGraphRunnableConfig,
): void {
  emit(config, {
    type: "agentic_loop.iteration",
    iteration: state.iteration_count,
    max_iterations: call.limits.max_iterations,
    tool_calls_count: calls,
  });
  const usage = usageOf(answer);
  if (usage === undefined) return;
  emit(config, {
    type: "token_usage",
    input_tokens: usage.input_tokens,
    output_tokens: usage.output_tokens,
    total_tokens: usage.total_tokens,
  });
}
