import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { Config } from "../config.ts";
import { AppError } from "../errors.ts";
import { builtInPrompts, type Prompts } from "../prompts/prompts.ts";
import { providers } from "./index.ts";
import { builtInProfiles } from "./profiles.ts";
import type { ModelOptions, ModelTarget, Provider } from "./provider.ts";
import { TextCallModel } from "./text-calls/text-call-model.ts";

const targets = new WeakMap<BaseChatModel, ModelTarget>();

/** Clients that one loader keeps. Names come from requests, so the number is bounded; the oldest is forgotten. */
const cacheLimit = 100;

/** Gives the model of a name, `provider:name` or just `offline`; a model is given back as it is. */
export type ModelLoader = (model: string | BaseChatModel, options: ModelOptions) => BaseChatModel;

/**
 * A loader that makes its clients from one configuration; `prompts` tell tools to models without calls of their own. Same name and options: same instance. It throws
 * `invalid_parameter` for an unknown provider, `auth` where a key is missing.
 */
export function createModelLoader(config: Config, prompts?: Prompts): ModelLoader {
  const cache = new Map<string, BaseChatModel>();
  return (model, options) => {
    if (typeof model !== "string") return model;
    const key = JSON.stringify([model, options.temperature ?? null]);
    const known = cache.get(key);
    if (known !== undefined) return known;
    const made = createModel(model, options, config, prompts);
    cache.set(key, made);
    const oldest = cache.keys().next().value;
    if (cache.size > cacheLimit && oldest !== undefined) cache.delete(oldest);
    return made;
  };
}

/** Makes a client without the cache, which calls tools one way or the other (XML-01). Errors as in `createModelLoader`. */
export function createModel(
  model: string,
  options: ModelOptions,
  config: Config,
  prompts: Prompts = builtInPrompts,
): BaseChatModel {
  const { provider, name } = parseName(model);
  const client = provider.create(name, options, config);
  const { tool_calls } = builtInProfiles(model);
  const made =
    tool_calls === "native"
      ? client
      : new TextCallModel(client, { grammar: tool_calls === "tags" ? "tags" : "invoke", prompts });
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
