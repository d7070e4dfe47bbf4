import type { Language } from "@millrace/engine/language";
import { providers } from "./index.ts";

/**
 * Whether the vendor of a provider, or of a model `provider:name`, can search the web by itself: with the key of the
 * model, and nothing else to set up.
 */
export function isProviderSearchAvailable(providerOrModel: string): boolean {
  const [name = ""] = providerOrModel.split(":");
  return Object.hasOwn(providers, name) && providers[name]?.searchesItself === true;
}

/** What a user has to do so that the vendor searches, step by step. */
export const providerSearchHelp: Readonly<Record<Language, readonly string[]>> = {
  en: ["Choose a model of this vendor. The search uses the model's own key; nothing else has to be set up."],
  zh: ["选择该厂商的模型即可。搜索使用模型自身的密钥，无需其他配置。"],
};
