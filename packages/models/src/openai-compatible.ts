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

/** What differs between vendors that speak OpenAI's chat completions (Models). */
type Vendor = Pick<Provider, "title" | "baseUrl" | "keyName" | "keepsThoughtsApart" | "environment">;

/** The SDK insists on a key; servers that need none ignore this one. */
const noKey = "none";

/** A provider that speaks OpenAI's chat completions: those below, and every one that a user adds. */
export function openAiCompatible(vendor: Vendor, quirks: Quirks = compatibleQuirks): Provider {
  return {
    ...vendor,
    ...(quirks.searchTool === undefined ? {} : { searchesItself: true as const }),
    create(name, options, { address, apiKey, timeouts, profile }) {
      // `streaming` stays unset: `true` makes the client download token tables (dependencies.md, 1.5).
      const fields: ChatOpenAIFields = {
        model: name,
        apiKey: apiKey ?? noKey,
        configuration: {
          baseURL: address,
          // What fails is in our own errors; the SDK would write it to the console as well.
          logLevel: "off",
          // A server that sends the request elsewhere would choose an address that nobody has checked, with our key.
          fetchOptions: { redirect: "error" },
          fetch: options.fetch ?? fetchWithin(timeouts.connectMs),
        },
        maxRetries: 0,
        // Until the headers, which is all of an answer that is not streamed.
        timeout: timeouts.totalMs,
        ...callDefaults(profile, options),
      };
      const asked = { quirks, profile, options };
      const completions = new VendorCompletions(fields, asked, timeouts);
      // The client takes one or the other by the model's name; where the vendor has one, both are that.
      const other: object = quirks.hasResponses ? new VendorResponses(fields, asked, timeouts) : completions;
      return new ChatOpenAI({ ...fields, completions, responses: other as ChatOpenAIResponses });
    },
    takesBeginning: (profile, options) => takesBeginning({ quirks, profile, options }),
    unreachableHint: `Check the network, and the address of ${vendor.title}.`,
    unknownModelHint: (name) => `Check the name "${name}" against the list of models of ${vendor.title}.`,
  };
}

/** OpenAI, or any server that speaks its protocol at `OPENAI_BASE_URL` (there the key is optional). */
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

/** SiliconFlow: names are typed by hand, `Provider/Model`. */
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
