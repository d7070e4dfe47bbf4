import { AppError } from "@millrace/engine/errors/errors";
import { isNamed } from "./known-models.ts";
import type { ProfilePart } from "./model-profile.ts";
import type { ProviderSetting } from "./model-settings.ts";
import type { ModelRegistry } from "./registry.ts";
import type { KnownProvider } from "./verified-models.ts";
import { modelRoles, type Roles } from "./roles.ts";

/** Adds a row for a model or, with `*`, for many. Throws `conflict` if there is one. */
export function addModel(models: ModelRegistry, name: string, part: ProfilePart): void {
  requireProviderOf(models, "name", name);
  if (Object.hasOwn(models.settings().models, name)) {
    throw new AppError("conflict", `There is already a row for ${name}.`, {
      suggestion: "Change it with PATCH.",
      message_zh: `已有模型 ${name} 的设置。`,
    });
  }
  models.files().file.change([{ path: ["models", name], value: part }]);
}

/** Changes fields of a model; others stay. Throws `not_found` for an unknown model. */
export function changeModel(models: ModelRegistry, name: string, part: ProfilePart): void {
  if (!Object.hasOwn(models.settings().models, name) && !isNamed(models, name)) throw noModel(name);
  models.files().file.change(Object.entries(part).map(([field, value]) => ({ path: ["models", name, field], value })));
}

/** Removes a model's row from the file; built-in rows stay. Throws `not_found`. */
export function removeModel(models: ModelRegistry, name: string): void {
  if (!Object.hasOwn(models.settings().models, name)) throw noModel(name);
  models.files().file.change([{ path: ["models", name], value: undefined }]);
}

/** Sets all roles. Throws `invalid_parameter` for a model without a provider. */
export function setRoles(models: ModelRegistry, roles: Roles): void {
  for (const role of modelRoles) {
    const model = roles[role];
    if (model !== undefined) requireProviderOf(models, role, model);
  }
  models.files().file.change([{ path: ["roles"], value: roles }]);
}

/** Adds a provider, or replaces the settings of a built-in one. Throws `invalid_parameter`. */
export function setProvider(models: ModelRegistry, name: string, setting: ProviderSetting): void {
  models.files().file.change([{ path: ["providers", name], value: setting }]);
}

/**
 * Removes a provider's settings; a built-in one returns to its defaults. Throws `not_found`, and `conflict` if models
 * of a custom one have roles.
 */
export function removeProvider(models: ModelRegistry, name: string): void {
  if (!Object.hasOwn(models.settings().providers, name)) throw noProvider(name);
  const roles = Object.entries(models.roles()).filter(([, model]) => model?.startsWith(`${name}:`));
  if (roles.length > 0 && !providerNamed(models, name).isBuiltIn) {
    const busy = roles.map(([role]) => role).join(", ");
    throw new AppError("conflict", `Models of ${name} have roles: ${busy}.`, {
      suggestion: "Give these roles to others first: PUT /models/roles.",
      message_zh: `${name} 的模型正在担任角色：${busy}。请先将这些角色交给其他模型。`,
    });
  }
  models.files().file.change([{ path: ["providers", name], value: undefined }]);
}

/** Stores a provider's key; `undefined` deletes it. Throws `not_found`, and `invalid_parameter` if it uses none. */
export function setKey(models: ModelRegistry, name: string, key: string | undefined): void {
  const { keyName } = providerNamed(models, name);
  if (keyName === undefined) {
    throw new AppError("invalid_parameter", `The provider ${name} has no key.`, {
      suggestion: `Name one first: PUT /providers/${name} with key, such as LM_STUDIO_API_KEY.`,
      message_zh: `提供商 ${name} 不使用密钥。`,
    });
  }
  models.files().credentials.set(keyName, key);
}

/** One provider. Throws `not_found`. */
export function providerNamed(models: ModelRegistry, name: string): KnownProvider {
  const provider = models.provider(name);
  if (provider === undefined) throw noProvider(name);
  return provider;
}

function requireProviderOf(models: ModelRegistry, field: string, model: string): void {
  const provider = model.split(":")[0] ?? "";
  if (models.provider(provider) !== undefined) return;
  throw new AppError("invalid_parameter", `${field}: "${model}" names no known provider.`, {
    suggestion: `Known: ${models.providerNames().join(", ")}. PUT /providers/:name adds one.`,
    message_zh: `“${model}”不属于任何已知的提供商。请先添加它的提供商。`,
  });
}

function noModel(name: string): AppError {
  return new AppError("not_found", `Nothing is said of the model ${name}.`, {
    suggestion: "GET /models lists all; POST /models adds one.",
  });
}

function noProvider(name: string): AppError {
  return new AppError("not_found", `There is no provider ${name}, or nothing is said of it.`, {
    suggestion: "GET /providers lists all; PUT /providers/:name adds one.",
  });
}
