import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { LRUCache } from "lru-cache";
import type { Config } from "@millrace/engine/config/config";
import { AppError } from "@millrace/engine/errors/errors";
import { GuardedModel } from "./resilience/guarded-model.ts";
import { ModelServices } from "./resilience/model-services.ts";
import type { ModelOptions, ModelTarget } from "./provider.ts";
import { ModelRegistry, type ReachedModel } from "./registry/registry.ts";
import type { KnownProvider } from "./registry/verified-models.ts";
import { TextCallModel } from "./text-calls/text-call-model.ts";
import type { DescribeTools } from "./describe-tools.ts";
import { UnmixedModel } from "./text-calls/unmixed-model.ts";
import { writingHabits } from "./text-calls/writing-habits.ts";

const targets = new WeakMap<BaseChatModel, ModelTarget>();

/** Clients that one loader keeps. Names come from requests, so the number is bounded; the one longest unused is forgotten. */
const cacheLimit = 100;

/** Gives the model of a name, `provider:name` or just `offline`; a model is given back as it is. */
export type ModelLoader = (model: string | BaseChatModel, options: ModelOptions) => BaseChatModel;

/** What clients are made from beside the configuration; without it, from what is built in. */
export interface ModelSources {
  /** What users have said of models; a change of that counts from the next call on. */
  models?: ModelRegistry;
  /** Describes tools to models without calls of their own; absent: the built-in words. */
  describeTools?: DescribeTools | undefined;
  /** What stands around every request; a loader without has its own. */
  services?: ModelServices;
}

/**
 * A loader that makes its clients from one configuration. Same name and options: same instance. It throws
 * `invalid_parameter` for an unknown provider, `auth` where a key is missing.
 */
export function createModelLoader(config: Config, sources: ModelSources = {}): ModelLoader {
  const { models: registry = new ModelRegistry(config), services = new ModelServices() } = sources;
  const cache = new LRUCache<string, BaseChatModel>({ max: cacheLimit });
  let state = registry.state();
  return (model, options) => {
    if (typeof model !== "string") return model;
    const now = registry.state();
    if (now.some((part, index) => part !== state[index])) cache.clear();
    state = now;
    const key = JSON.stringify([
      model,
      options.temperature ?? null,
      options.thinking ?? null,
      options.webSearch ?? null,
      options.maxTokens ?? null,
      options.toolProtocol ?? null,
    ]);
    const known = cache.get(key);
    if (known !== undefined) return known;
    const made = createModel(model, options, config, { ...sources, models: registry, services });
    cache.set(key, made);
    return made;
  };
}

/** Makes a client without the cache, which calls tools one way or the other. Errors as in `createModelLoader`. */
export function createModel(
  model: string,
  options: ModelOptions,
  config: Config,
  { models: registry = new ModelRegistry(config), describeTools, services }: ModelSources = {},
): BaseChatModel {
  const reached = registry.reach(model, options);
  const { provider, name, connection } = reached;
  if (provider.needsKey && provider.key === undefined) throw noKey(name, provider);
  const target = targetOf(model, name, provider);
  const bare = provider.maker.create(name, options, connection);
  const client = services === undefined ? bare : guarded(bare, { services, target, reached });
  const made = unmixed(client, reached, describeTools, options.toolProtocol);
  const takesBeginning = provider.maker.takesBeginning?.(connection.profile, options) ?? false;
  targets.set(made, { ...target, takesBeginning });
  return made;
}

/** Gives words, thoughts and calls apart, whichever way the model has to say them. */
function unmixed(
  client: BaseChatModel,
  { provider, name, connection }: ReachedModel,
  describeTools: DescribeTools | undefined,
  wanted?: ModelOptions["toolProtocol"],
): BaseChatModel {
  const tool_calls = wanted ?? connection.profile.tool_calls;
  if (connection.address === undefined) return client;
  const { maker, address } = provider;
  const habits = writingHabits(name, maker.keepsThoughtsApart === true && address === maker.baseUrl);
  if (tool_calls === "native") return new UnmixedModel(client, habits);
  const grammar = tool_calls === "tags" ? "tags" : "invoke";
  return new TextCallModel(client, { grammar, describeTools, opensInThought: habits.opensInThought });
}

function guarded(
  client: BaseChatModel,
  { services, target, reached }: { services: ModelServices; target: ModelTarget; reached: ReachedModel },
): BaseChatModel {
  // Nothing is asked over a network, so nothing can be down.
  if (target.address === undefined) return client;
  const { provider, connection } = reached;
  const { max_concurrent: maxConcurrent, requests_per_second: perSecond } = provider.limits;
  const isLocal = provider.maker.isLocal === true;
  const { totalMs } = connection.timeouts;
  return new GuardedModel(client, { services, target, isLocal, maxConcurrent, perSecond, totalMs });
}

/** What is known of a model that a loader made; `undefined` for models from elsewhere. */
export function modelTarget(model: BaseChatModel): ModelTarget | undefined {
  return targets.get(model);
}

/** Whom an error message is about, and what its reader can do. */
export function targetOf(model: string, name: string, provider: KnownProvider): ModelTarget {
  const { maker, address, keyName, key } = provider;
  const secret = key?.value;
  return {
    name: model,
    address,
    unreachableHint: maker.unreachableHint,
    unknownModelHint: maker.unknownModelHint(name),
    ...(maker.advise === undefined ? {} : { advise: (code, said) => maker.advise?.(code, said, name) }),
    ...(keyName === undefined ? {} : { keyHint: `Check the key in ${keyName}.` }),
    ...(secret === undefined ? {} : { withoutKey: (text: string) => text.replaceAll(secret, "[redacted]") }),
  };
}

/** Why a model cannot be asked whose provider needs a key and has none. */
export function noKey(name: string, { maker, keyName }: KnownProvider): AppError {
  return new AppError("auth", `The model ${name} of ${maker.title} needs a key, and ${keyName} is empty.`, {
    suggestion: `Set ${keyName} in the environment, in .env or in credentials.json of the data folder, or choose another model with MILLRACE_MODEL.`,
  });
}
