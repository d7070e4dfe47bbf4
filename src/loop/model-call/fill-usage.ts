import type { AIMessage, AIMessageChunk, BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { modelPrice } from "@millrace/models/registry/model-limits";
import type { ModelPrice } from "@millrace/models/registry/model-profile";
import { countMessages, weighParts } from "../../context/tokens/tokens.ts";
import { callsOf } from "../reply/reply-calls.ts";
import { usageOf } from "../reply/reply-message.ts";
import { costOf } from "../limits/limits.ts";
import { profilesOf, servicesOf } from "../services.ts";
import type { timesOf } from "./timed-call.ts";

/**
 * Fills in missing usage with an estimate of prompt and answer, without tools, marked as `usage_estimated`, so that
 * token and cost limits work with every vendor.
 */
export function withUsage(answer: AIMessageChunk, prompt: readonly BaseMessage[]): AIMessageChunk {
  const usage = usageOf(answer);
  if (usage !== undefined && usage.total_tokens > 0) return answer;
  const input_tokens = countMessages(prompt);
  // The normalized calls: raw ones may be nested too deep to serialize.
  const output_tokens = weighParts(answer, callsOf(answer)).total;
  answer.additional_kwargs["usage_estimated"] = true;
  return Object.assign(answer, {
    usage_metadata: { input_tokens, output_tokens, total_tokens: input_tokens + output_tokens },
  });
}

/** Counts a call's usage for the server and for its owner, whose limits use the server's price. */
export async function countUsage(
  { usage_metadata: usage }: AIMessage,
  { model, price, times }: { model: string; price: ModelPrice | undefined; times: ReturnType<typeof timesOf> },
  config: LangGraphRunnableConfig,
): Promise<void> {
  if (usage === undefined) return;
  const { input_tokens, output_tokens } = usage;
  const { onUsage, account } = servicesOf(config);
  const costBy = (one: ModelPrice | undefined): number =>
    one === undefined ? 0 : costOf({ input: input_tokens, output: output_tokens }, one);
  onUsage?.({ model, input_tokens, output_tokens, cost: costBy(price) });
  const cached_tokens = usage.input_token_details?.cache_read ?? 0;
  const cost = costBy(modelPrice(model, profilesOf(config)));
  await account?.count({ model, input_tokens, output_tokens, cached_tokens, cost, ...times });
}
