import { offline } from "./offline/offline.ts";
import { ollama } from "./ollama/ollama.ts";
import { deepseek, openai, qwen, siliconflow, zhipu } from "./openai-compatible.ts";
import type { Provider } from "./provider.ts";

/** Every provider, by the name before the colon of a model's name. */
export const providers: Readonly<Record<string, Provider>> = {
  offline,
  openai,
  zhipu,
  siliconflow,
  deepseek,
  qwen,
  ollama,
};
