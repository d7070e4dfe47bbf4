import type { ModelPrice, ReadProfile } from "./model-profile.ts";
import { builtInProfiles } from "./profiles.ts";

/** A model's maximum tokens in total and per answer. */
export interface ModelLimits {
  context: number;
  output: number;
}

/**
 * The limits of `provider:name`. `contextLimit` (tokens, `MILLRACE_CONTEXT_LIMIT`) can only lower the context, since a
 * model's own limit stays. Facts from a server override built-in `profiles`.
 */
export function modelLimits(
  model: string,
  contextLimit?: number,
  profiles: ReadProfile = builtInProfiles,
): ModelLimits {
  const limits = profiles(model);
  const context = contextLimit === undefined ? limits.context : Math.min(limits.context, contextLimit);
  return { context, output: Math.min(limits.output, context) };
}

/** Input tokens left after reserving the longest answer and `used`; at least 0. */
export function availableContext(limits: ModelLimits, used: number): number {
  return Math.max(0, limits.context - limits.output - used);
}

/** Price per million tokens; `undefined` if unknown. */
export function modelPrice(model: string, profiles: ReadProfile = builtInProfiles): ModelPrice | undefined {
  const { price } = profiles(model);
  return price === null ? undefined : { input: price.input, output: price.output };
}
