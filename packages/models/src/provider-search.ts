import type { Language } from "@millrace/engine/language";
import { providers } from "./index.ts";

/** Whether a provider or model (`provider:name`) has a built-in web search, which needs only the model's key. */
export function isProviderSearchAvailable(providerOrModel: string): boolean {
  const [name = ""] = providerOrModel.split(":");
  return Object.hasOwn(providers, name) && providers[name]?.searchesItself === true;
}

/** Steps for users to enable the vendor's search. */
export const providerSearchHelp: Readonly<Record<Language, readonly string[]>> = {
  en: ["Choose a model of this vendor. The search uses the model's own key; nothing else has to be set up."],
  zh: ["选择该厂商的模型即可。搜索使用模型自身的密钥，无需其他配置。"],
};
