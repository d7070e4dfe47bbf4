import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { LRUCache } from "lru-cache";
import type { Config } from "@millrace/engine/config/config";
import { AppError } from "@millrace/engine/errors/errors";
import { GuardedModel } from "./resilience/guarded-model.ts";
import { ModelServices } from "./resilience/model-services.ts";
import type { ModelOptions, ModelTarget } from "./provider.ts";
import { ModelRegistry, type ResolvedModel } from "./registry/registry.ts";
import type { KnownProvider } from "./registry/verified-models.ts";
import { TextCallModel } from "./text-calls/text-call-model.ts";
import type { DescribeTools } from "./describe-tools.ts";
import { UnmixedModel } from "./text-calls/unmixed-model.ts";
import { writingHabits } from "./text-calls/writing-habits.ts";

const targets = new WeakMap<BaseChatModel, ModelTarget>();

/** Cache size for clients; names come from requests, so it must be bounded. */
const cacheLimit = 100;

/** Returns the model of a name, `provider:name` or `offline`; a model instance is returned as is. */
export type ModelLoader = (model: string | BaseChatModel, options: ModelOptions) => BaseChatModel;

/** Optional sources for clients; defaults are built in. */
export interface ModelSources {
  /** The model registry; changes apply from the next call on. */
  models?: ModelRegistry;
  /** Describes tools to models without native tool calls; default built in. */
  describeTools?: DescribeTools | undefined;
  /** Services around every request; default the loader's own. */
  services?: ModelServices;
}

/**
 * Creates a loader with a client cache per name and options. The loader throws `invalid_parameter` for an unknown
 * provider, `auth` if a key is missing.
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

/** Creates an uncached client with native or text tool calls. Errors as in `createModelLoader`. */
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

/** Separates text, reasoning and calls, however the model writes them. */
function unmixed(
  client: BaseChatModel,
  { provider, name, connection }: ResolvedModel,
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
  { services, target, reached }: { services: ModelServices; target: ModelTarget; reached: ResolvedModel },
): BaseChatModel {
  // Without a network there is nothing to guard.
  if (target.address === undefined) return client;
  const { provider, connection } = reached;
  const { max_concurrent: maxConcurrent, requests_per_second: perSecond } = provider.limits;
  const isLocal = provider.maker.isLocal === true;
  const { totalMs } = connection.timeouts;
  return new GuardedModel(client, { services, target, isLocal, maxConcurrent, perSecond, totalMs });
}

/** The target of a model made by a loader; `undefined` for others. */
export function modelTarget(model: BaseChatModel): ModelTarget | undefined {
  return targets.get(model);
}

/** The model named in error messages, with hints. */
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

/** The error for a missing key. */
export function noKey(name: string, { maker, keyName }: KnownProvider): AppError {
  return new AppError("auth", `The model ${name} of ${maker.title} needs a key, and ${keyName} is empty.`, {
    suggestion: `Set ${keyName} in the environment, in .env or in credentials.json of the data folder, or choose another model with MILLRACE_MODEL.`,
  });
}
