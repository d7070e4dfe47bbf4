import type { BaseChatModel, BaseChatModelCallOptions } from "@langchain/core/language_models/chat_models";
import { modelTarget } from "@millrace/models/load-model";
import { toModelError } from "@millrace/models/model-error";

/** Models that refused JSON mode. */
const refusing = new WeakSet<BaseChatModel>();

/** The option for OpenAI and for Ollama; each client reads its own. */
const asJson = { response_format: { type: "json_object" }, format: "json" };

/**
 * Requests an answer in JSON mode where supported; the prompt describes the shape. If the server refuses, repeats
 * without it: JSON is also found within text.
 */
export async function withJsonMode<Answer>(
  model: BaseChatModel,
  request: (options: Partial<BaseChatModelCallOptions>) => Promise<Answer>,
): Promise<Answer> {
  if (refusing.has(model)) return await request({});
  try {
    // Clients read their own options beside the base ones.
    return await request(asJson as Partial<BaseChatModelCallOptions>);
  } catch (error) {
    if (toModelError(error, modelTarget(model)).code !== "api_error") throw error;
    const answer = await request({});
    refusing.add(model);
    return answer;
  }
}
