import type { ModelProfile } from "./registry/model-profile.ts";
import type { ModelOptions } from "./provider.ts";

/** Whether a model thinks before it answers: always, never, or as the run says; left out, as is usual for it. */
export function thinksFirst({ thinking }: Pick<ModelProfile, "thinking">, options: ModelOptions): boolean {
  if (thinking === "optional") return options.thinking !== false;
  return thinking === "always" || (thinking === "on_request" && options.thinking === true);
}

/**
 * The temperature and the longest answer of a call: what the run says goes before the model's row, and that before the
 * vendor, who is asked nothing where a field is missing. While a model thinks its own temperature is fixed.
 */
export function callDefaults(
  profile: ModelProfile,
  options: ModelOptions,
): { temperature?: number; maxTokens?: number } {
  const thinks = thinksFirst(profile, options);
  const usual = options.temperature ?? profile.temperature;
  const temperature = thinks ? (profile.temperature_thinking ?? usual) : usual;
  const usualLength = thinks ? (profile.max_tokens_thinking ?? profile.max_tokens) : profile.max_tokens;
  const maxTokens = options.maxTokens ?? usualLength;
  return {
    ...(temperature === null ? {} : { temperature }),
    ...(maxTokens === null ? {} : { maxTokens: Math.min(maxTokens, profile.output) }),
  };
}
