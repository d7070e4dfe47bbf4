import { AIMessage, type AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { countMessage, countMessages } from "../../context/tokens/tokens.ts";
import { callsOf } from "../reply/reply-calls.ts";
import { usageOf } from "../reply/reply-message.ts";

/**
 * The answer with what it has used. Where the vendor does not say, it is our own estimate of what was sent and said,
 * marked as `usage_estimated`: limits of tokens and money hold for such vendors too. Tools are not in it.
 */
export function withUsage(answer: AIMessageChunk, prompt: readonly BaseMessage[]): AIMessageChunk {
  const usage = usageOf(answer);
  if (usage !== undefined && usage.total_tokens > 0) return answer;
  const input_tokens = countMessages(prompt);
  // The calls as they will be kept: what a model wrote may be nested too deep to be written out.
  const { content, additional_kwargs } = answer;
  const output_tokens = countMessage(new AIMessage({ content, additional_kwargs, tool_calls: callsOf(answer) }));
  answer.additional_kwargs["usage_estimated"] = true;
  return Object.assign(answer, {
    usage_metadata: { input_tokens, output_tokens, total_tokens: input_tokens + output_tokens },
  });
}
