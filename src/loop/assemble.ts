import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { weigh } from "../context/compress.ts";
import { countMessages, countText } from "../context/tokens.ts";
import { chooseWindow } from "../context/view.ts";
import { modelLimits } from "../models/model-limits.ts";
import { reachedLimit } from "./limits.ts";
import { emit, loopCall, move } from "./request.ts";
import { servicesOf } from "./services.ts";
import type { LoopState, LoopUpdate } from "./state.ts";

/**
 * Begins an iteration: looks at the limits and decides what of the history the model sees. It changes nothing else, so it
 * may run twice.
 */
export async function assemble(state: LoopState, config: LangGraphRunnableConfig): Promise<LoopUpdate> {
  const call = loopCall(config);
  const { limits } = call;
  const iteration = state.iteration_count + 1;
  if (iteration === 1) {
    emit(config, { type: "agentic_loop.started", node: call.node, max_iterations: limits.max_iterations });
    move(config, "start", state.phase, iteration);
  } else {
    move(config, "tool_complete", state.phase, iteration);
  }

  const now = Date.now();
  const start_time = state.start_time === 0 ? now : state.start_time;
  const closing = state.closing ?? reachedLimit({ ...state, start_time }, limits, now);
  const limit = modelLimits(call.model, servicesOf(config).contextLimit).context;
  const fixedTokens =
    countText(call.system) + countText(call.instruction ?? "") + countMessages(state.messages) + toolTokens(call.tools);
  const window = chooseWindow(call.history, { summary: call.summary, fixedTokens, limit });
  const tokens = fixedTokens + window.tokens;
  emit(config, { type: "context_usage", ...weigh(tokens, limit) });

  const phase = move(config, iteration === 1 ? "prompt_ready" : "results_ready", state.phase, iteration);
  // Only what changes is written: every field here is stored with every step.
  return {
    iteration_count: iteration,
    phase,
    view: { first: window.first, tokens },
    ...(closing === state.closing ? {} : { closing }),
    ...(start_time === state.start_time ? {} : { start_time }),
  };
}

const tokensOfTools = new WeakMap<object, number>();

function toolTokens(tools: readonly { name: string; description: string }[]): number {
  let tokens = 0;
  for (const tool of tools) {
    let known = tokensOfTools.get(tool);
    if (known === undefined) {
      known = countText(tool.name + tool.description) + 60;
      tokensOfTools.set(tool, known);
    }
    tokens += known;
  }
  return tokens;
}
