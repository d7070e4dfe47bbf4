import { environmentVariable, type Config } from "@millrace/engine/config/config";
import { AppError } from "@millrace/engine/errors/errors";
import type { Logger } from "@millrace/engine/logger";
import { Credentials } from "./credentials.ts";
import { providers } from "../index.ts";
import { modelLimits } from "./model-limits.ts";
import type { ReadProfile } from "./model-profile.ts";
import { noSettings, type ModelSettings, type ProviderSetting } from "./model-settings.ts";
import { ModelsFile } from "./models-file.ts";
import { openAiCompatible } from "../openai-compatible.ts";
import { profileOf, type ProfileRows } from "./profiles.ts";
import type { Connection, ModelOptions, Provider } from "../provider.ts";
import { type KnownProvider, VerifiedModels } from "./verified-models.ts";
import type { ServerRoles } from "./roles.ts";
import { InstalledProviders } from "../vendor-packages.ts";
import { timeoutsOf } from "../resilience/timeouts.ts";
import { compatibleQuirks } from "../vendors/quirks.ts";

/** Providers by the name before the colon of a model's name. */
type Providers = Readonly<Record<string, Provider>>;

/** A reachable model: its provider, its name there, and the connection. */
export interface ResolvedModel {
  provider: KnownProvider;
  name: string;
  connection: Connection;
}

/**
 * Knows all models: built-in rows, the file of models, stored keys and the environment. File and stored keys override
 * the environment; both are read at each use, so changes apply from the next model call on. Without files only built-in
 * facts are known.
 */
export class ModelRegistry {
  readonly #config: Config;
  readonly #files: ModelFiles | undefined;
  readonly #providers: Providers;
  readonly #installed: InstalledProviders;
  #found: ProfileRows = {};
  #keys: { sources: readonly unknown[]; all: readonly string[] } | undefined;

  /** `others` are providers of the app, beside the built-in ones. */
  constructor(config: Config, { files, others = {} }: { files?: ModelFiles; others?: Providers } = {}) {
    this.#config = config;
    this.#files = files;
    this.#installed = new InstalledProviders(config.graphs);
    this.#providers = { ...others, ...providers };
  }

  /** The profile of any model; never throws. */
  readonly profile: ReadProfile = (model) => profileOf(model, this.settings().models, this.#found);

  /** Settings of the file of models; the same object until it changes. */
  settings(): ModelSettings {
    return this.#files?.file.settings() ?? noSettings;
  }

  /** Model facts reported by self-hosted servers; they override built-in rows. */
  found(): ProfileRows {
    return this.#found;
  }

  /** Sets these facts, effective from the next model call. */
  setFound(rows: ProfileRows): void {
    this.#found = rows;
  }

  /** Changes when existing clients become invalid: compare by identity. */
  state(): readonly unknown[] {
    return [...this.#keySources(), this.#found];
  }

  /** The sources of keys; compare by identity. */
  #keySources(): readonly unknown[] {
    return [this.settings(), this.storedKeys(), ...Object.values(this.#config.secretFiles.values())];
  }

  /** Roles used if a run sets none. */
  roles(): ServerRoles {
    const { model, titleModel, embeddingModel } = this.#config;
    const { main = model, titles = titleModel, embedding = embeddingModel, ...others } = this.settings().roles;
    return { ...others, main, titles, embedding };
  }

  /** The names of all providers: built-in ones, then those of installed packages. */
  providerNames(): string[] {
    const own = Object.keys(this.settings().providers);
    return [...new Set([...Object.keys(this.#providers), ...this.#installed.names(), ...own])];
  }

  /** One provider; `undefined` for an unknown name. */
  provider(name: string): KnownProvider | undefined {
    const { providers: own } = this.settings();
    const setting: ProviderSetting | undefined = Object.hasOwn(own, name) ? own[name] : undefined;
    const shipped = Object.hasOwn(this.#providers, name) ? this.#providers[name] : undefined;
    const builtIn = shipped ?? (setting === undefined ? this.#installed.find(name) : undefined);
    const maker = builtIn ?? (setting === undefined ? undefined : ownProvider(name, setting));
    if (maker === undefined) return undefined;
    const usual = maker.environment?.(this.#config) ?? {};
    const address = setting?.base_url ?? usual.baseUrl ?? maker.baseUrl;
    const keyName = setting?.key ?? maker.keyName;
    return {
      name,
      isBuiltIn: builtIn !== undefined,
      maker,
      address,
      needsKey: builtIn !== undefined && keyName !== undefined && address === maker.baseUrl,
      keyName,
      key: keyName === undefined ? undefined : this.#key(keyName, keyName === maker.keyName ? usual.apiKey : undefined),
      limits: setting ?? {},
    };
  }

  /** Resolves a model chosen by a run. Throws `invalid_parameter` for an unknown provider or an empty name. */
  reach(model: string, options: ModelOptions = {}): ResolvedModel {
    const colon = model.indexOf(":");
    const providerName = colon === -1 ? model : model.slice(0, colon);
    const name = colon === -1 ? "" : model.slice(colon + 1);
    const provider = this.provider(providerName);
    if (provider === undefined) {
      const advice = this.#installed.advice(providerName);
      if (advice !== undefined) {
        const missing = `The model "${model}" needs a package that is not installed.`;
        throw new AppError("invalid_parameter", missing, { suggestion: advice });
      }
      const known = this.providerNames().join(", ");
      throw new AppError("invalid_parameter", `The model "${model}" names no known provider. Known: ${known}.`, {
        suggestion: "Write a model as provider:name, for example openai:gpt-4o-mini or ollama:qwen2.5:7b, or offline.",
      });
    }
    if (name === "" && providerName !== "offline") {
      throw new AppError("invalid_parameter", `The model "${model}" has no name after the provider.`, {
        suggestion: `Write it as ${providerName}:name.`,
      });
    }
    const { address, key, limits, maker } = provider;
    const profile = { ...this.profile(model), ...modelLimits(model, this.#config.contextLimit, this.profile) };
    const stated = { ...profile, first_token_seconds: profile.first_token_seconds ?? limits.timeout_seconds ?? null };
    const timeouts = timeoutsOf(stated, maker.isLocal === true, options);
    return { provider, name, connection: { address, apiKey: key?.value, timeouts, profile } };
  }

  /** When models last passed a test; `undefined` if nothing is stored. */
  verified(): VerifiedModels | undefined {
    return this.#files?.verified;
  }

  /** The stored keys by name, to use or to redact; the same object until the file changes. */
  storedKeys(): Readonly<Record<string, string>> {
    return this.#files?.credentials.all() ?? noKeys;
  }

  /** All stored and environment keys, to redact. */
  keys(): readonly string[] {
    const sources = this.#keySources();
    const known = this.#keys;
    if (known !== undefined && sources.every((source, index) => source === known.sources[index])) return known.all;
    const used = this.providerNames().flatMap((name) => this.provider(name)?.key?.value ?? []);
    const all = [...new Set([...Object.values(this.storedKeys()), ...used])];
    this.#keys = { sources, all };
    return all;
  }

  /** The files, for changes; throws `invalid_state` without files. */
  files(): ModelFiles {
    if (this.#files !== undefined) return this.#files;
    throw new AppError("invalid_state", "Models cannot be changed here: there is no data folder.");
  }

  /** A stored key, else that of the environment or of its secret file. */
  #key(name: string, usual: string | undefined): KnownProvider["key"] {
    const stored = this.storedKeys();
    const value = Object.hasOwn(stored, name) ? stored[name] : undefined;
    if (value !== undefined) return { value, source: "file" };
    const set = this.#config.secretFiles.value(name) ?? usual ?? environmentVariable(name);
    return set === undefined || set === "" ? undefined : { value: set, source: "environment" };
  }
}

const noKeys: Readonly<Record<string, string>> = {};

/** Files that can be changed at run time. */
export interface ModelFiles {
  file: ModelsFile;
  credentials: Credentials;
  verified: VerifiedModels;
}

/** Opens the registry of a data folder; both files are optional. Warnings name the file and the problem. */
export function openModels(config: Config, logger: Pick<Logger, "error">, others: Providers = {}): ModelRegistry {
  const warn = (warning: { file: string; problem: string }): void => logger.error(warning, "models_file_not_used");
  const { dataDir } = config;
  const files = {
    file: new ModelsFile(dataDir, warn),
    credentials: new Credentials(dataDir, warn),
    verified: new VerifiedModels(dataDir, warn),
  };
  return new ModelRegistry(config, { files, others });
}

function ownProvider(name: string, setting: ProviderSetting): Provider {
  const { title = name, base_url, key, beginning_field, thinking_field } = setting;
  const vendor = { title, baseUrl: base_url, keyName: key };
  return openAiCompatible(vendor, {
    ...compatibleQuirks,
    beginningField: beginning_field,
    thinkingField: thinking_field,
  });
}
