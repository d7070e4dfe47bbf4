import type { Language } from "@millrace/engine/language";

/** A model recommended to start with. */
export interface RecommendedModel {
  name: string;
  about: Record<Language, string>;
}

/** Models for local machines. */
export const recommendedModels: readonly RecommendedModel[] = [
  {
    name: "qwen2.5:7b",
    about: {
      en: "Qwen 2.5 with 7B parameters: strong in Chinese and English",
      zh: "通义千问 2.5，7B 参数，中英文能力强",
    },
  },
  {
    name: "qwen2.5:14b",
    about: { en: "Qwen 2.5 with 14B parameters: reasons better", zh: "通义千问 2.5，14B 参数，更强推理能力" },
  },
  {
    name: "deepseek-coder:6.7b",
    about: { en: "DeepSeek Coder: made to write code", zh: "DeepSeek Coder，代码生成专用" },
  },
  {
    name: "llama3.1:8b",
    about: { en: "Meta Llama 3.1 with 8B parameters: for all purposes", zh: "Meta Llama 3.1，8B 参数，通用能力" },
  },
  { name: "mistral:7b", about: { en: "Mistral 7B: light and fast", zh: "Mistral 7B，轻量高效" } },
];
