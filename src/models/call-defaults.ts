import type { ModelProfile } from "./model-profile.ts";
import type { ModelOptions } from "./provider.ts";

/** Whether a model thinks before it answers: always, never, or as the run says; left out, it does (LLM-05). */
export function thinksFirst({ thinking }: ModelProfile, options: ModelOptions): boolean {
  return thinking === "always" || (thinking === "optional" && options.thinking !== false);
}

/**
 * The temperature and the longest answer of a call: what the run says goes before the model's row, and that before the
 * vendor, who is asked nothing where a field is missing. While a model thinks its own temperature is fixed (LLM-05).
 */
export function callDefaults(
  profile: ModelProfile,
  options: ModelOptions,
): { temperature?: number; maxTokens?: number } {
  const thinks = thinksFirst(profile, options);
  const usual = options.temperature ?? profile.temperature;
  const temperature = thinks ? (profile.temperature_thinking ?? usual) : usual;
  const maxTokens = thinks ? (profile.max_tokens_thinking ?? profile.max_tokens) : profile.max_tokens;
  return {
    ...(temperature === null ? {} : { temperature }),
    ...(maxTokens === null ? {} : { maxTokens: Math.min(maxTokens, profile.output) }),
  };
}
