import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { Config } from "../config.ts";
import { AppError } from "../errors.ts";
import { providers } from "./index.ts";
import type { ModelOptions, ModelTarget, Provider } from "./provider.ts";

const targets = new WeakMap<BaseChatModel, ModelTarget>();

/** Clients that one loader keeps. Names come from requests, so the number is bounded; the oldest is forgotten. */
const cacheLimit = 100;

/** Gives the model of a name, `provider:name` or just `offline`; a model is given back as it is. */
export type ModelLoader = (model: string | BaseChatModel, options: ModelOptions) => BaseChatModel;

/**
 * A loader that makes its clients from one configuration. Same name and options: same instance. It throws
 * `invalid_parameter` for an unknown provider, `auth` where a key is missing.
 */
export function createModelLoader(config: Config): ModelLoader {
  const cache = new Map<string, BaseChatModel>();
  return (model, options) => {
    if (typeof model !== "string") return model;
    const key = JSON.stringify([model, options.temperature ?? null]);
    const known = cache.get(key);
    if (known !== undefined) return known;
    const made = createModel(model, options, config);
    cache.set(key, made);
    const oldest = cache.keys().next().value;
    if (cache.size > cacheLimit && oldest !== undefined) cache.delete(oldest);
    return made;
  };
}

/** Makes a client without the cache. Errors as in `createModelLoader`. */
export function createModel(model: string, options: ModelOptions, config: Config): BaseChatModel {
  const { provider, name } = parseName(model);
  const made = provider.create(name, options, config);
  targets.set(made, {
    name: model,
    address: provider.address(config),
    unreachableHint: provider.unreachableHint,
    unknownModelHint: provider.unknownModelHint(name),
    keyHint: provider.keyHint,
  });
  return made;
}

/** What is known of a model that a loader made; `undefined` for models from elsewhere. */
export function modelTarget(model: BaseChatModel): ModelTarget | undefined {
  return targets.get(model);
}

function parseName(model: string): { provider: Provider; name: string } {
  const colon = model.indexOf(":");
  const providerName = colon === -1 ? model : model.slice(0, colon);
  const name = colon === -1 ? "" : model.slice(colon + 1);
  const provider = Object.hasOwn(providers, providerName) ? providers[providerName] : undefined;
  const known = Object.keys(providers).join(", ");
  if (provider === undefined) {
    throw new AppError("invalid_parameter", `The model "${model}" names no known provider. Known: ${known}.`, {
      suggestion: "Write a model as provider:name, for example openai:gpt-4o-mini or ollama:qwen2.5:7b, or offline.",
    });
  }
  if (name === "" && providerName !== "offline") {
    throw new AppError("invalid_parameter", `The model "${model}" has no name after the provider.`, {
      suggestion: `Write it as ${providerName}:name.`,
    });
  }
  return { provider, name };
}
