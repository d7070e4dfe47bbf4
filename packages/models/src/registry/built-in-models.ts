import type { ProfilePart } from "./model-profile.ts";

/** Models with optional thinking, by the vendor's defaults. */
const zhipuThinking: ProfilePart = {
  max_tokens: 32_768,
  max_tokens_thinking: 65_536,
  temperature: 0.7,
  temperature_thinking: 1,
  thinking: "optional",
};
const writesCalls: ProfilePart = { tool_calls: "text" };
const canThink: ProfilePart = { thinking: "optional" };
/** The vendor's default is without thinking. */
const mayThink: ProfilePart = { thinking: "on_request" };
const seesImages: ProfilePart = { vision: true };
const usd = (input: number, output: number): ProfilePart => ({ price: { input, output, currency: "USD" } });

/**
 * Built-in facts about models by name; a trailing `*` matches any rest, and a more specific row extends and overrides
 * others. Figures and prices are the vendors' own, of November 2025; no price if a vendor has several for one model.
 * The window of Ollama's models is our `numCtx`: larger ones cost memory at once.
 */
export const builtInModels: Readonly<Record<string, ProfilePart>> = {
  offline: { display_name: "Offline" },

  "openai:gpt-4o*": { context: 128_000, output: 16_384, ...seesImages },
  "openai:gpt-4o": { display_name: "GPT-4o", ...usd(2.5, 10) },
  "openai:gpt-4o-mini": { display_name: "GPT-4o mini", ...usd(0.15, 0.6) },
  "openai:gpt-4.1*": { context: 1_047_576, output: 32_768, ...seesImages },
  "openai:gpt-4.1": { display_name: "GPT-4.1", ...usd(2, 8) },
  "openai:gpt-4.1-mini": { display_name: "GPT-4.1 mini", ...usd(0.4, 1.6) },
  "openai:gpt-4.1-nano": { display_name: "GPT-4.1 nano", ...usd(0.1, 0.4) },
  "openai:gpt-5*": { context: 400_000, output: 128_000, thinking: "always", ...seesImages },
  "openai:gpt-5": { display_name: "GPT-5", ...usd(1.25, 10) },
  "openai:gpt-5-mini": { display_name: "GPT-5 mini", ...usd(0.25, 2) },
  "openai:gpt-5-nano": { display_name: "GPT-5 nano", ...usd(0.05, 0.4) },
  "openai:o3*": { context: 200_000, output: 100_000, thinking: "always", ...seesImages },
  "openai:o3": { display_name: "o3", ...usd(2, 8) },
  "openai:o4-mini*": { context: 200_000, output: 100_000, thinking: "always", ...seesImages },
  "openai:o4-mini": { display_name: "o4-mini", ...usd(1.1, 4.4) },

  "zhipu:glm*": { structured_output: "json_object" },
  "zhipu:glm-4.7*": { context: 200_000, output: 65_536, vision_model: "zhipu:glm-4.6v", ...zhipuThinking },
  "zhipu:glm-4.7": { display_name: "GLM-4.7" },
  "zhipu:glm-4.6v*": { context: 128_000, output: 32_768, thinking: "optional", ...seesImages },
  "zhipu:glm-4.6v": { display_name: "GLM-4.6V" },
  "zhipu:glm-4.6v-flash": { display_name: "GLM-4.6V Flash" },

  // This vendor's names are entered manually: it has rules but no list.
  "siliconflow:*": { structured_output: "json_object" },
  "siliconflow:deepseek-ai/DeepSeek-R1*": { thinking: "always" },
  "siliconflow:Pro/deepseek-ai/DeepSeek-R1*": { thinking: "always" },
  "siliconflow:Qwen/Qwen3-8B*": canThink,
  "siliconflow:Qwen/Qwen3-14B*": canThink,
  "siliconflow:Qwen/Qwen3-32B*": canThink,

  "deepseek:*": { context: 128_000, output: 8_192, structured_output: "json_object" },
  "deepseek:deepseek-chat": { display_name: "DeepSeek Chat", ...mayThink, ...usd(0.28, 0.42) },
  "deepseek:deepseek-reasoner": {
    display_name: "DeepSeek Reasoner",
    output: 65_536,
    thinking: "always",
    ...usd(0.28, 0.42),
  },

  "qwen:*": { structured_output: "json_object" },
  "qwen:qwen3-8b*": canThink,
  "qwen:qwen3-14b*": canThink,
  "qwen:qwen3-32b*": canThink,
  "qwen:qwen-plus*": mayThink,
  "qwen:qwen-flash*": mayThink,
  "qwen:qwen-turbo*": mayThink,
  "qwen:qwen-plus": { display_name: "Qwen Plus", vision_model: "qwen:qwen-vl-plus" },
  "qwen:qwen-max": { display_name: "Qwen Max", vision_model: "qwen:qwen-vl-plus" },
  "qwen:qwen-vl*": { ...seesImages },
  "qwen:qwen-vl-plus": { display_name: "Qwen VL Plus" },

  // Vision and tool support by name; rows with a title are recommended.
  "ollama:*": { context: 32_768, output: 8_192 },
  "ollama:llava*": { ...seesImages, ...writesCalls },
  "ollama:bakllava*": { ...seesImages, ...writesCalls },
  "ollama:deepseek-coder*": { context: 16_384, output: 4096, ...writesCalls },
  // Trained for less than the default window, to which Ollama would silently cut.
  "ollama:llama2*": { context: 4096, output: 1024 },
  "ollama:llama3:*": { context: 8192, output: 2048 },
  "ollama:gemma2*": { context: 8192, output: 2048, ...writesCalls },
  "ollama:codellama*": { context: 16_384, output: 4096, ...writesCalls },
  "ollama:qwen2.5:7b": { display_name: "Qwen 2.5 7B" },
  "ollama:qwen2.5:14b": { display_name: "Qwen 2.5 14B" },
  "ollama:deepseek-coder:6.7b": { display_name: "DeepSeek Coder 6.7B" },
  "ollama:llama3.1:8b": { display_name: "Llama 3.1 8B" },
  "ollama:mistral:7b": { display_name: "Mistral 7B" },
};
