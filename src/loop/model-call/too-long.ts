import type { BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { overflowAt } from "../../context/view.ts";
import { countMessage } from "../../context/tokens/tokens.ts";
import type { AlternativePlan } from "@millrace/engine/errors/error-strategy";
import { AppError } from "@millrace/engine/errors/errors";
import { modelOf, offeredTools } from "./ask-model.ts";
import { requestTokens, toolTokens, windowOf } from "../view/plan-view.ts";
import { promptOf } from "../view/prompt.ts";
import type { LoopCall } from "../request.ts";
import type { LoopState } from "../state.ts";

/**
 * An error if the request exceeds the model's window although everything optional was left out; it lists what takes how
 * much. `undefined` if it fits.
 */
export function tooLong(
  prompt: BaseMessage[],
  state: LoopState,
  call: LoopCall,
  config: LangGraphRunnableConfig,
): AppError | undefined {
  const model = modelOf(state, call);
  const limit = windowOf(model, config);
  const tools = offeredTools(state, call);
  const tokens = requestTokens(prompt, tools);
  if (tokens <= limit) return undefined;
  const system = prompt[0] === undefined ? 0 : countMessage(prompt[0]);
  const ofTools = toolTokens(tools);
  return new AppError(
    "context_overflow",
    `The request takes about ${tokens} tokens, and ${model} reads ${limit}: the system text ${system}, ` +
      `${tools.length} tools ${ofTools}, what is said ${tokens - system - ofTools}.`,
    {
      suggestion:
        "Send a shorter message or fewer references, offer fewer tools (tools, or chat_mode: chat), or choose a model " +
        "that reads more.",
    },
  );
}

/** A fallback with which the request fits: the other model, else without tools. */
export function planThatFits(
  plans: readonly AlternativePlan[],
  state: LoopState,
  call: LoopCall,
  config: LangGraphRunnableConfig,
): AlternativePlan | undefined {
  return (["other_model", "without_tools"] as const).find((plan) => {
    if (!plans.includes(plan)) return false;
    const changed = { ...state, alternative: plan };
    const tokens = requestTokens(promptOf(changed, call), offeredTools(changed, call));
    return tokens <= windowOf(modelOf(changed, call), config) * overflowAt;
  });
}
