import { isIP } from "node:net";
import { builtInModels } from "./built-in-models.ts";
import type { ModelProfile, ProfilePart } from "./model-profile.ts";
import { isOneModel } from "./profiles.ts";
import type { ModelRegistry } from "./registry.ts";
import type { KnownProvider } from "./verified-models.ts";
import { modelRoles, type ModelRole } from "./roles.ts";

/** A model's current state; `own` is its own row in the models file. */
export interface KnownModel {
  name: string;
  provider: string;
  is_built_in: boolean;
  own: ProfilePart | null;
  /** Its context, already lowered to the operator's limit. */
  profile: ModelProfile;
  roles: ModelRole[];
  /** Whether all keys are present; makes no request. */
  has_what_it_needs: boolean;
  /** When it last passed a test with its current address and key. */
  llm_last_verified_at: string | null;
}

/** The listed models: built-in ones, those of the file, those reported by servers, and those with a role. */
export function knownModels(models: ModelRegistry): KnownModel[] {
  return namesOf(models).flatMap((name) => (hasProvider(models, name) ? [knownModel(models, name)] : []));
}

/** Any model of a provider, listed or not. Throws `invalid_parameter` as `ModelRegistry.reach` does. */
export function knownModel(models: ModelRegistry, name: string): KnownModel {
  const { provider, connection } = models.reach(name);
  const own = models.settings().models;
  const roles = models.roles();
  return {
    name,
    provider: provider.name,
    is_built_in: Object.hasOwn(builtInModels, name),
    own: (Object.hasOwn(own, name) ? own[name] : undefined) ?? null,
    profile: connection.profile,
    roles: modelRoles.filter((role) => roles[role] === name),
    has_what_it_needs: !provider.needsKey || provider.key !== undefined,
    llm_last_verified_at: models.verified()?.at(name, provider) ?? null,
  };
}

/** Whether a model is one of `knownModels`. */
export function isNamed(models: ModelRegistry, name: string): boolean {
  return namesOf(models).includes(name);
}

/** The file's rows for many models, by name prefix. */
export function ownRules(models: ModelRegistry): Record<string, ProfilePart> {
  return Object.fromEntries(Object.entries(models.settings().models).filter(([match]) => !isOneModel(match)));
}

/** Whether a provider is on this machine, or reaches nothing. */
export function isLocal({ address }: KnownProvider): boolean {
  if (address === undefined) return true;
  const host = new URL(address).hostname.replace(/^\[|\]$/gu, "");
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}

function namesOf(models: ModelRegistry): string[] {
  const rows = [
    ...Object.keys(builtInModels),
    ...Object.keys(models.settings().models),
    ...Object.keys(models.found()),
  ].filter(isOneModel);
  const roles = models.roles();
  return [...new Set([...rows, ...modelRoles.flatMap((role) => roles[role] ?? [])])];
}

/** Roles and rows may name a removed provider. */
function hasProvider(models: ModelRegistry, name: string): boolean {
  return models.provider(name.split(":")[0] ?? "") !== undefined;
}
