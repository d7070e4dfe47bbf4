import type { BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { weigh } from "../../context/compression/compress.ts";
import { overGrowingList } from "../../context/compression/growing-list.ts";
import { hintTokens } from "../../context/hints.ts";
import { fitView, applyReduction, stepOf, type FittedView, type ReducedView } from "../../context/overflow.ts";
import { cutEarly } from "../../context/compression/shorter-history.ts";
import { safeZoneTokens } from "../../context/pruning/safe-zone.ts";
import { countMessage, countMessages, countText } from "../../context/tokens/tokens.ts";
import { withLearned } from "@millrace/models/registry/learned-limits";
import type { AlternativePlan } from "@millrace/engine/errors/error-strategy";
import { modelLimits } from "@millrace/models/registry/model-limits";
import { coreParts, textOfParts } from "../../prompts/injector.ts";
import { toLangChainTools } from "../../tools/runtime/registry.ts";
import type { Tool } from "../../tools/runtime/tool.ts";
import { modelOf } from "../model-call/ask-model.ts";
import { visibleTools } from "../model-call/callable-tools.ts";
import { checkView } from "../limits/check-context.ts";
import { chooseDocumentation } from "./documentation.ts";
import { emit, type LoopCall } from "../request.ts";
import { earlyCutLimit, historyLimit, emitRounds } from "./token-limits.ts";
import { hasHints, prunedView, emitPruning } from "./pruned-view.ts";
import type { PrunedView, LoopState, ViewPlan } from "../state.ts";
import { profilesOf, servicesOf } from "../services.ts";

/** Plans the model's view of this iteration; emits what is left out and how full the window is. */
export function planView(state: LoopState, call: LoopCall, config: LangGraphRunnableConfig): ViewPlan {
  const model = modelOf(state, call);
  const limit = withLearned(servicesOf(config).loadModel, model, windowOf(model, config));
  const zone = safeZoneTokens(call.limits.safe_zone, limit);
  const shown = prunedView(state, call, zone);
  emitPruning(shown, call, config);
  const system = countText(call.system);
  const rest = countText(call.instruction ?? "") + toolTokens(visibleTools(call, state)) + notesTokens(state);
  const eachTokens = hasHints(call) ? hintTokens : 0;
  const fixed = system + rest + countMessages(shown.turn) + shown.turn.length * eachTokens;
  const left_out = chooseDocumentation(call, { fixed, limit }, config);
  const documentation = countMessages(call.documentation ?? []);
  const core = call.parts === undefined ? system : countText(coreText(call));
  const optional = system - core;
  const besides = { before: system + rest + documentation, eachTokens, limit };
  const early = earlyCutLimit(shown, besides, state, call, config);
  const maxHistoryTokens = historyLimit(besides, state, call, config);
  const history = early === undefined ? shown.history : cutEarly(shown.history, early).shown;
  const view = fitView({
    ...shown,
    history,
    core: core + rest + documentation,
    optional,
    eachTokens,
    limit,
    maxHistoryTokens,
  });
  const { first, tokens, form } = view;
  emitRounds(call, config);
  emitOverflow(view, { ...shown, history }, besides, call, config);
  emit(config, { type: "context_usage", ...weigh(tokens, limit) });
  checkView(tokens, limit, call, config);
  const whole = system + rest + documentation + historyTokens(call.history) + countMessages(state.messages);
  const plan: ViewPlan = { first, tokens, whole, zone };
  return {
    ...plan,
    ...(left_out === 0 ? {} : { left_out }),
    ...(early === undefined ? {} : { early }),
    ...(form === undefined ? {} : { form }),
  };
}

/** State changes for a fallback: another model has another window. */
export function inAnotherWay(
  state: LoopState,
  alternative: AlternativePlan,
  call: LoopCall,
  config: LangGraphRunnableConfig,
): Pick<LoopState, "alternative" | "view"> {
  const changed = { ...state, alternative };
  const isSame = modelOf(changed, call) === modelOf(state, call);
  return { alternative, view: isSame ? state.view : planView(changed, call, config) };
}

/** Emits once per step of a call. */
function emitOverflow(
  { form, tokens }: FittedView,
  { history, turn }: PrunedView,
  { before, eachTokens, limit }: { before: number; eachTokens: number; limit: number },
  call: LoopCall,
  config: LangGraphRunnableConfig,
): void {
  if (form === undefined) return;
  const step = stepOf(form);
  if (call.emitted.has(`overflow ${step}`)) return;
  call.emitted.add(`overflow ${step}`);
  const all = countMessages(history) + countMessages(turn) + (history.length + turn.length) * eachTokens;
  emit(config, { type: "context_overflow", step, tokens_before: before + all, tokens_after: tokens, limit });
}

/**
 * The messages in the planned form, before and after the call's instruction. `earlier`: messages left out of the
 * history.
 */
export function messagesInView(state: LoopState, call: LoopCall): ReducedView & { earlier: BaseMessage[] } {
  const { first = 0, zone = Infinity, form, early } = state.view ?? {};
  const { history: all, turn } = prunedView(state, call, zone);
  const { shown: history, left } = early === undefined ? { shown: all, left: [] } : cutEarly(all, early);
  const shown = applyReduction(form, { history, first, turn });
  return { ...shown, earlier: [...call.earlier, ...left] };
}

/** The system text in the planned form: the same in all iterations unless there is no room. */
export function systemInView({ view }: Pick<LoopState, "view">, call: LoopCall): string {
  const isWhole = view?.form === undefined || stepOf(view.form) === "history";
  return isWhole || call.parts === undefined ? call.system : coreText(call);
}

/** A model's input limit in tokens, by its profile and the operator's limit. */
export function windowOf(model: string, config: LangGraphRunnableConfig): number {
  return modelLimits(model, servicesOf(config).contextLimit, profilesOf(config)).context;
}

function notesTokens({ notes }: Pick<LoopState, "notes">): number {
  return notes.reduce((tokens, { text }) => tokens + countText(text), 0);
}

function coreText({ parts = [] }: LoopCall): string {
  return textOfParts(coreParts(parts));
}

/** Cached: the history may be long and is counted in every turn. */
const historyTokens = overGrowingList(0, (tokens, message) => tokens + countMessage(message));

const tokensOfTools = new WeakMap<object, number>();

/** Estimated tokens of the tools' schemas, which may be long for MCP servers. */
export function toolTokens(tools: readonly Tool[]): number {
  let tokens = 0;
  for (const tool of tools) {
    let known = tokensOfTools.get(tool);
    if (known === undefined) {
      known = countText(JSON.stringify(toLangChainTools([tool])[0]));
      tokensOfTools.set(tool, known);
    }
    tokens += known;
  }
  return tokens;
}

/** Estimated tokens of a request. */
export function requestTokens(prompt: readonly BaseMessage[], tools: readonly Tool[]): number {
  return countMessages(prompt) + toolTokens(tools);
}
