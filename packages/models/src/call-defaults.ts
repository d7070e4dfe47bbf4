import type { ModelProfile } from "./registry/model-profile.ts";
import type { ModelOptions } from "./provider.ts";

/** Whether the model thinks first: always, never, or by the run's option, default its usual way. */
export function thinksFirst({ thinking }: Pick<ModelProfile, "thinking">, options: ModelOptions): boolean {
  if (thinking === "optional") return options.thinking !== false;
  return thinking === "always" || (thinking === "on_request" && options.thinking === true);
}

/**
 * Temperature and maximum tokens of a call: the run's options, then the model's row, then the vendor's default (field
 * omitted). While a model thinks its temperature is fixed.
 */
export function callDefaults(
  profile: ModelProfile,
  options: ModelOptions,
): { temperature?: number; maxTokens?: number } {
  const thinks = thinksFirst(profile, options);
  const usual = options.temperature ?? profile.temperature;
  const temperature = thinks ? (profile.temperature_thinking ?? usual) : usual;
  const defaultLength = thinks ? (profile.max_tokens_thinking ?? profile.max_tokens) : profile.max_tokens;
  const maxTokens = options.maxTokens ?? defaultLength;
  return {
    ...(temperature === null ? {} : { temperature }),
    ...(maxTokens === null ? {} : { maxTokens: Math.min(maxTokens, profile.output) }),
  };
}
