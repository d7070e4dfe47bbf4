import type { AIMessageChunk, BaseMessage } from "@langchain/core/messages";
import { countMessages, weighParts } from "../../context/tokens/tokens.ts";
import { callsOf } from "../reply/reply-calls.ts";
import { usageOf } from "../reply/reply-message.ts";

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
