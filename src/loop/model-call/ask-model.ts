import type { BaseChatModel, BaseChatModelCallOptions } from "@langchain/core/language_models/chat_models";
import type { AIMessageChunk, BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { overGrowingList } from "../../context/compression/growing-list.ts";
import { withPictures } from "../../context/pictures.ts";
import { AppError, errorMessage } from "@millrace/engine/errors/errors";
import { modelTarget } from "@millrace/models/load-model";
import { modelPrice } from "@millrace/models/registry/model-limits";
import type { ToolDefinition } from "@langchain/core/language_models/base";
import { callWithRetry } from "@millrace/models/resilience/call-with-retry";
import type { ModelPrice } from "@millrace/models/registry/model-profile";
import { toLangChainTools } from "../../tools/runtime/registry.ts";
import type { Tool } from "../../tools/runtime/tool.ts";
import { visibleTools, isForcedNow } from "./callable-tools.ts";
import { ContinuedModel } from "../reply/continued-model.ts";
import { withUsage } from "./fill-usage.ts";
import { withJsonMode } from "./json-mode.ts";
import { remainingMs, elapsedMs } from "../limits/limits.ts";
import { requestRecorder } from "./record-request.ts";
import { advancePhase } from "../limits/advance-phase.ts";
import { emit, type LoopCall } from "../request.ts";
import { EarlyCalls } from "../tool-call/early-calls.ts";
import { isCutResult } from "../tool-call/result-message.ts";
import { hasHints, prunedView } from "../view/pruned-view.ts";
import { profilesOf, servicesOf, type RunServices } from "../services.ts";
import type { LoopState } from "../state.ts";
import { modelOptions } from "./vendor-search.ts";
import { CallClock, recordCallTimes } from "./timed-call.ts";
import { withinTime } from "./within-time.ts";

/**
 * Calls the model once and returns its complete answer: retried on connection failures, continued if cut off, within
 * the remaining time. Throws AppErrors, and the reason of a stop.
 */
export async function ask(
  prompt: BaseMessage[],
  state: LoopState,
  call: LoopCall,
  config: LangGraphRunnableConfig,
): Promise<AIMessageChunk> {
  const services = servicesOf(config);
  const { generate_max_rounds, agentic_connection_retries } = call.limits;
  const name = modelOf(state, call);
  const model = services.loadModel(name, modelOptions(name, call));
  const offered = offeredTools(state, call);
  const clock = new CallClock(name, services.account);
  const whole = ContinuedModel.reused(continued.get(call), model, {
    rounds: generate_max_rounds,
    prompts: call.prompts,
    onRequest: requestRecorder(name, offered, call, config),
    takesBeginning: modelTarget(model)?.takesBeginning === true,
    hasHints: hasHints(call),
    onChunk: (chunk) => {
      clock.recordChunk(chunk);
      call.early?.read(chunk);
    },
    onPiece: (round) => emit(config, { type: "output_continued", round, max_rounds: generate_max_rounds }),
    onFailure: (error) =>
      emit(config, { type: "agentic_loop.error", error_type: "output_not_continued", message: errorMessage(error) }),
  });
  continued.set(call, whole);
  whole.disableStreaming = !whole.streams || state.unstreamed;
  const tools = toolOptions(model, offered, { name, choice: toolChoice(state, call) });
  advancePhase(config, "stream_started", state.phase, state.iteration_count);
  const time = Math.max(1000, remainingMs(elapsedMs(call.clock, state, performance.now()), call.limits));
  const named = { ...config, ...tools, metadata: { ...config.metadata, model_call_id: call.modelCallId } };
  const seen = await withPicturesFor(name, prompt, config);
  const request = (options: Partial<BaseChatModelCallOptions>): Promise<AIMessageChunk> =>
    clock.time(options.signal, () =>
      whole.invoke(seen, { ...named, ...options, runName: `llm_call_iter_${state.iteration_count}` }),
    );
  // Silent calls expect JSON.
  const expectsJson = call.silent && profilesOf(config)(name).structured_output !== "none";
  const answer = await withinTime(time, config.signal, (signal) =>
    callWithRetry(
      (attemptSignal) =>
        withinRates(services, attemptSignal, () => {
          if (expectsJson) return withJsonMode(model, (format) => request({ ...format, signal: attemptSignal }));
          return withEarlyCalls(state, call, config, () => request({ signal: attemptSignal }));
        }),
      {
        signal,
        target: modelTarget(model),
        maxRetries: agentic_connection_retries,
        onRetry: (attempt, error) => emit(config, { type: "retry", what: "model", attempt, reason: error.message }),
      },
    ),
  );
  recordCallTimes(call, clock);
  return withUsage(answer, seen);
}

/** The messages with the pictures of the user, for a model that sees them and an owner whose files may be read. */
function withPicturesFor(name: string, prompt: BaseMessage[], config: LangGraphRunnableConfig): Promise<BaseMessage[]> {
  const { workspace, allowedTools } = servicesOf(config);
  const maySee = profilesOf(config)(name).vision && allowedTools?.has("read_file") !== false;
  return maySee
    ? withPictures(prompt, workspace, config.signal ?? new AbortController().signal)
    : Promise.resolve(prompt);
}

/** The model that a loop call used last. */
const continued = new WeakMap<LoopCall, ContinuedModel>();

/** Runs calls of the reply while it streams; those of a reply that fails are cancelled. */
async function withEarlyCalls<T>(
  state: LoopState,
  call: LoopCall,
  config: LangGraphRunnableConfig,
  request: () => Promise<T>,
): Promise<T> {
  call.early?.end();
  const early = new EarlyCalls(state, config);
  call.early = early;
  try {
    return await request();
  } catch (error) {
    early.end();
    throw error;
  } finally {
    early.close();
  }
}

/** Makes one request within the process's rate and concurrency limits; waiting counts as the turn's time. */
async function withinRates<T>(
  { modelRate, modelRequests, locks }: RunServices,
  signal: AbortSignal,
  request: () => Promise<T>,
): Promise<T> {
  const begin = async (): Promise<T> => {
    await modelRate?.acquire(signal);
    return await request();
  };
  return modelRequests === undefined ? begin() : locks.withSlot("models", modelRequests, signal, begin);
}

/** The tools as request options. `bindTools` would merge the whole configuration twice more. */
function toolOptions(
  model: BaseChatModel,
  offered: Tool[],
  { name, choice }: { name: string; choice: string | undefined },
): { tools?: ToolDefinition[]; tool_choice?: string } {
  if (offered.length === 0) return {};
  if (model.bindTools === undefined) {
    throw new AppError("unavailable_tool_mode", `The model ${name} cannot call tools.`, {
      suggestion: "Choose a model that can, or set chat_mode to chat.",
    });
  }
  const tools = toLangChainTools(offered);
  return choice === undefined ? { tools } : { tools, tool_choice: choice };
}

/** The tool the model must call, or `none` in a closing call; `undefined`: free choice. */
function toolChoice(state: LoopState, call: LoopCall): string | undefined {
  if (state.closing !== null) return "none";
  return isForcedNow(state.messages, call) ? call.forcedTool : undefined;
}

/** The model this call uses. */
export function modelOf({ alternative }: Pick<LoopState, "alternative">, call: LoopCall): string {
  return alternative === "other_model" && call.fallbackModel !== undefined ? call.fallbackModel : call.model;
}

/** The price of that model; the request's price is its own model's. */
export function priceOf(
  state: Pick<LoopState, "alternative">,
  call: LoopCall,
  config: LangGraphRunnableConfig,
): ModelPrice | undefined {
  const model = modelOf(state, call);
  return model === call.model ? call.limits.price : modelPrice(model, profilesOf(config));
}

/**
 * The tools in a request. They stay the same within a turn, also when one must be called or none may be, so that a
 * provider's prefix cache holds.
 */
export function offeredTools(state: LoopState, call: LoopCall): Tool[] {
  if (state.alternative === "without_tools") return [];
  const visible = visibleTools(call, state);
  if (state.offered !== null || hidesSome(state, call)) return visible;
  return visible.filter(({ offered }) => offered?.onlyWhenHistoryCut !== true);
}

const hasCutResult = overGrowingList(false, (found, message) => found || isCutResult(message));

/** Whether the view hides anything: by a summary, cut history, pruning, or a cut result. */
function hidesSome(state: LoopState, call: LoopCall): boolean {
  const { first = 0, form, early } = state.view ?? {};
  const isLess = first > 0 || form !== undefined || early !== undefined;
  if (isLess || call.summary !== null || call.earlier.length > 0) return true;
  const { deleted, cleared } = prunedView(state, call, state.view?.zone ?? Infinity);
  if (deleted + cleared > 0) return true;
  return [call.history, state.messages].some(hasCutResult);
}
