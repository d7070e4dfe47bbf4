import type { BaseChatModel, BaseChatModelCallOptions } from "@langchain/core/language_models/chat_models";
import { modelTarget } from "@millrace/models/load-model";
import { toModelError } from "@millrace/models/model-error";

/** Those that have refused it, so that they are not asked again and again. */
const refusing = new WeakSet<BaseChatModel>();

/** The option in OpenAI's words and in Ollama's; each client reads its own. */
const asJson = { response_format: { type: "json_object" }, format: "json" };

/**
 * Makes a request whose answer the program reads, and holds the model to JSON where it can be; the prompts describe the
 * form. A server that refuses such a request is asked without it: JSON is found between words too.
 */
export async function heldToJson<Answer>(
  model: BaseChatModel,
  request: (options: Partial<BaseChatModelCallOptions>) => Promise<Answer>,
): Promise<Answer> {
  if (refusing.has(model)) return await request({});
  try {
    // What a client reads beside the base options is its own.
    return await request(asJson as Partial<BaseChatModelCallOptions>);
  } catch (error) {
    if (toModelError(error, modelTarget(model)).code !== "api_error") throw error;
    const answer = await request({});
    refusing.add(model);
    return answer;
  }
}
