import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import type { BaseMessage } from "@langchain/core/messages";
import type { ChatGenerationChunk } from "@langchain/core/outputs";
import { ChatOpenAI, ChatOpenAICompletions, type ChatOpenAIFields } from "@langchain/openai";
import type { Config } from "../config.ts";
import { AppError } from "../errors.ts";
import type { Provider } from "./provider.ts";
import { watchStream } from "./watch-stream.ts";

/** What differs between vendors that speak OpenAI's chat completions (design.md, section 4, Models). */
interface Vendor {
  title: string;
  baseUrl: string;
  keyVariable: string;
  key(config: Config): string | undefined;
  /** An address of the user's own, where a key may not be needed. */
  ownBaseUrl?(config: Config): string | undefined;
}

/**
 * Milliseconds until the headers of an answer, which is all of an answer that is not streamed (LLM-04: 300 s for thinking
 * models). What follows the headers is watched by `watch-stream.ts`.
 */
const answerTimeoutMs = 300_000;

/** The SDK insists on a key; servers that need none ignore this one. */
const noKey = "none";

/** Chat completions whose streams never end in silence or half-way unnoticed. */
class WatchedCompletions extends ChatOpenAICompletions {
  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const open = (signal: AbortSignal): AsyncGenerator<ChatGenerationChunk> =>
      super._streamResponseChunks(messages, { ...options, signal }, runManager);
    yield* watchStream(open, { signal: options.signal });
  }
}

function provider(vendor: Vendor): Provider {
  const address = (config: Config): string => vendor.ownBaseUrl?.(config) ?? vendor.baseUrl;
  return {
    create(name, options, config) {
      const key = vendor.key(config) ?? (vendor.ownBaseUrl?.(config) === undefined ? undefined : noKey);
      if (key === undefined) {
        throw new AppError(
          "auth",
          `The model ${name} of ${vendor.title} needs a key, and ${vendor.keyVariable} is empty.`,
          {
            suggestion: `Set ${vendor.keyVariable} in the environment or in .env, or choose another model with MILLRACE_MODEL.`,
          },
        );
      }
      // `streaming` stays unset: `true` makes the client download token tables (dependencies.md, 1.5).
      const fields: ChatOpenAIFields = {
        model: name,
        apiKey: key,
        // What fails is in our own errors; the SDK would write it to the console as well.
        configuration: {
          baseURL: address(config),
          logLevel: "off",
          ...(options.fetch === undefined ? {} : { fetch: options.fetch }),
        },
        maxRetries: 0,
        timeout: answerTimeoutMs,
        ...(options.temperature === undefined ? {} : { temperature: options.temperature }),
      };
      return new ChatOpenAI({ ...fields, completions: new WatchedCompletions(fields) });
    },
    address,
    unreachableHint: `Check the network, and the address of ${vendor.title}.`,
    keyHint: `Check the key in ${vendor.keyVariable}.`,
    unknownModelHint: (name) => `Check the name "${name}" against the list of models of ${vendor.title}.`,
  };
}

/** OpenAI, or any server that speaks its protocol at `OPENAI_BASE_URL` (there the key is optional). */
export const openai = provider({
  title: "OpenAI",
  baseUrl: "https://api.openai.com/v1",
  keyVariable: "OPENAI_API_KEY",
  key: (config) => config.openai.apiKey,
  ownBaseUrl: (config) => config.openai.baseUrl,
});

/** Zhipu GLM (LLM-04). */
export const zhipu = provider({
  title: "Zhipu",
  baseUrl: "https://open.bigmodel.cn/api/paas/v4",
  keyVariable: "ZHIPU_API_KEY",
  key: (config) => config.vendorKeys["zhipu"],
});

/** SiliconFlow (LLM-13): names are typed by hand, `Provider/Model`. */
export const siliconflow = provider({
  title: "SiliconFlow",
  baseUrl: "https://api.siliconflow.cn/v1",
  keyVariable: "SILICONFLOW_API_KEY",
  key: (config) => config.vendorKeys["siliconflow"],
});

/** DeepSeek (LLM-20). */
export const deepseek = provider({
  title: "DeepSeek",
  baseUrl: "https://api.deepseek.com/v1",
  keyVariable: "DEEPSEEK_API_KEY",
  key: (config) => config.vendorKeys["deepseek"],
});

/** Qwen through DashScope's compatible mode (LLM-20). */
export const qwen = provider({
  title: "Qwen",
  baseUrl: "https://dashscope.aliyuncs.com/compatible-mode/v1",
  keyVariable: "DASHSCOPE_API_KEY",
  key: (config) => config.vendorKeys["qwen"],
});
