import { ollama } from "./ollama/ollama.ts";
import { deepseek, openai, qwen, siliconflow, zhipu } from "./openai-compatible.ts";
import type { Provider } from "./provider.ts";

/** The built-in providers, by the name before the colon of a model's name. */
export const providers: Readonly<Record<string, Provider>> = {
  openai,
  zhipu,
  siliconflow,
  deepseek,
  qwen,
  ollama,
};
