import { ChatOpenAI, type ChatOpenAIFields, type ChatOpenAIResponses } from "@langchain/openai";
import { callDefaults } from "./call-defaults.ts";
import { fetchWithin } from "./resilience/fetch-within.ts";
import type { Provider } from "./provider.ts";
import {
  compatibleQuirks,
  deepseekQuirks,
  openaiQuirks,
  qwenQuirks,
  siliconflowQuirks,
  zhipuQuirks,
  type Quirks,
} from "./vendors/quirks.ts";
import { takesBeginning } from "./vendors/request.ts";
import { VendorCompletions } from "./vendors/vendor-completions.ts";
import { VendorResponses } from "./vendors/vendor-responses.ts";

/** Differences between vendors with OpenAI's chat completions. */
type Vendor = Pick<Provider, "title" | "baseUrl" | "keyName" | "keepsThoughtsApart" | "environment">;

/** The SDK requires a key; servers without keys ignore this one. */
const noKey = "none";

/** A provider with OpenAI's chat completions: those below, and every one a user adds. */
export function openAiCompatible(vendor: Vendor, quirks: Quirks = compatibleQuirks): Provider {
  return {
    ...vendor,
    ...(quirks.searchTool === undefined ? {} : { searchesItself: true as const }),
    create(name, options, { address, apiKey, timeouts, profile }) {
      // `streaming` stays unset: `true` makes the client download token tables.
      const fields: ChatOpenAIFields = {
        model: name,
        apiKey: apiKey ?? noKey,
        configuration: {
          baseURL: address,
          // Failures are in our own errors; the SDK would also print them.
          logLevel: "off",
          // A redirect would send our key to an unchecked address.
          fetchOptions: { redirect: "error" },
          fetch: options.fetch ?? fetchWithin(timeouts.connectMs),
        },
        maxRetries: 0,
        // Until the headers, which for an unstreamed answer means all of it.
        timeout: timeouts.totalMs,
        ...callDefaults(profile, options),
      };
      const context = { quirks, profile, options };
      const completions = new VendorCompletions(fields, context, timeouts);
      // The client chooses between the two by model name; if the vendor has only one API, both are that one.
      const other: object = quirks.hasResponses ? new VendorResponses(fields, context, timeouts) : completions;
      return new ChatOpenAI({ ...fields, completions, responses: other as ChatOpenAIResponses });
    },
    takesBeginning: (profile, options) => takesBeginning({ quirks, profile, options }),
    unreachableHint: `Check the network, and the address of ${vendor.title}.`,
    unknownModelHint: (name) => `Check the name "${name}" against the list of models of ${vendor.title}.`,
  };
}

/** OpenAI, or any compatible server at `OPENAI_BASE_URL` (where the key is optional). */
export const openai = openAiCompatible(
  {
    title: "OpenAI",
    baseUrl: "https://api.openai.com/v1",
    keyName: "OPENAI_API_KEY",
    environment: (config) => config.openai,
  },
  openaiQuirks,
);

/** Zhipu GLM. */
export const zhipu = openAiCompatible(
  {
    title: "Zhipu",
    baseUrl: "https://open.bigmodel.cn/api/paas/v4",
    keyName: "ZHIPU_API_KEY",
    keepsThoughtsApart: true,
    environment: (config) => ({ apiKey: config.vendorKeys["zhipu"] }),
  },
  zhipuQuirks,
);

/** SiliconFlow: names are entered manually, `Provider/Model`. */
export const siliconflow = openAiCompatible(
  {
    title: "SiliconFlow",
    baseUrl: "https://api.siliconflow.cn/v1",
    keyName: "SILICONFLOW_API_KEY",
    keepsThoughtsApart: true,
    environment: (config) => ({ apiKey: config.vendorKeys["siliconflow"] }),
  },
  siliconflowQuirks,
);

/** DeepSeek. */
export const deepseek = openAiCompatible(
  {
    title: "DeepSeek",
    baseUrl: "https://api.deepseek.com/v1",
    keyName: "DEEPSEEK_API_KEY",
    keepsThoughtsApart: true,
    environment: (config) => ({ apiKey: config.vendorKeys["deepseek"] }),
  },
  deepseekQuirks,
);

/** Qwen through DashScope's compatible mode. */
export const qwen = openAiCompatible(
  {
    title: "Qwen",
    baseUrl: "https://dashscope.aliyuncs.com/compatible-mode/v1",
    keyName: "DASHSCOPE_API_KEY",
    keepsThoughtsApart: true,
    environment: (config) => ({ apiKey: config.vendorKeys["qwen"] }),
  },
  qwenQuirks,
);
