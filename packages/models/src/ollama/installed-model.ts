import type { ProfilePart } from "../registry/model-profile.ts";
import type { ListedModel, ModelDetails } from "./api.ts";
import { namedAbilities } from "./named-abilities.ts";

/** An installed model, as users choose it. What its server does not report is guessed from its name. */
export interface InstalledModel {
  name: string;
  /** Bytes. */
  size: number;
  /** In the server's notation, such as 7.6B. */
  parameter_size: string | null;
  quantization: string | null;
  modified_at: string | null;
  /** The context length it was trained for. */
  context_length: number | null;
  /** The context length of every request. */
  window: number;
  supports_vision: boolean;
  supports_tools: boolean;
  thinks: boolean;
  /** Whether it can chat; embedding models cannot. */
  can_chat: boolean;
}

/** Default window: larger ones cost memory at once. */
const defaultWindow = 32_768;
/** Minimum window, whatever the model file says: an agent's own texts need it. */
const smallestWindow = 2048;
/** Maximum tokens per answer; in small windows a quarter. */
const maxAnswerTokens = 8192;
/** Models that always think. */
const alwaysThinking = /^(?:.*\/)?gpt-oss\b/u;

/** Combines what is known about a model. */
export function installedModel(listed: ListedModel, shown: ModelDetails | undefined): InstalledModel {
  const { name, size, modified_at, details } = listed;
  const named = namedAbilities(name);
  const capabilities = shown?.capabilities;
  const has = (ability: string, byName: boolean): boolean => capabilities?.includes(ability) ?? byName;
  const context_length = shown?.contextLength ?? named.contextLength ?? null;
  const wanted = Math.max(smallestWindow, shown?.window ?? defaultWindow);
  return {
    name,
    size,
    parameter_size: details.parameter_size ?? shown?.details.parameter_size ?? null,
    quantization: details.quantization_level ?? shown?.details.quantization_level ?? null,
    modified_at: modified_at ?? null,
    context_length,
    // Servers silently lower a larger window and cut every prompt.
    window: Math.min(wanted, context_length ?? wanted),
    supports_vision: has("vision", named.vision),
    supports_tools: has("tools", named.tools),
    thinks: has("thinking", false),
    can_chat: has("completion", named.chat),
  };
}

/** Its display name: name, parameters, size. */
export function titleOf({ name, parameter_size, size }: InstalledModel): string {
  const gigabytes = size === 0 ? undefined : `${(size / 1e9).toFixed(1)} GB`;
  const facts = [parameter_size, gigabytes].filter((fact) => fact !== undefined && fact !== null && fact !== "");
  return facts.length === 0 ? name : `${name} (${facts.join(", ")})`;
}

/** The profile for the registry; users' rows override it. */
export function installedProfile(model: InstalledModel): ProfilePart {
  return {
    context: model.window,
    output: Math.min(maxAnswerTokens, Math.floor(model.window / 4)),
    vision: model.supports_vision,
    tool_calls: model.supports_tools ? "native" : "text",
    thinking: !model.thinks ? "none" : alwaysThinking.test(model.name) ? "always" : "optional",
  };
}
