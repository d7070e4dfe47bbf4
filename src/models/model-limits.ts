/** Tokens a model may read in all, and write in one answer. */
export interface ModelLimits {
  context: number;
  output: number;
}

/** For models that are not in the table (TOKEN-06). */
const fallback: ModelLimits = { context: 128_000, output: 32_768 };

/** By the beginning of the name; the longest match holds. Figures are the vendors' own; Ollama's is our `numCtx`. */
const table: Readonly<Record<string, ModelLimits>> = {
  "openai:gpt-4o": { context: 128_000, output: 16_384 },
  "openai:gpt-4.1": { context: 1_047_576, output: 32_768 },
  "openai:gpt-5": { context: 400_000, output: 128_000 },
  "openai:o3": { context: 200_000, output: 100_000 },
  "openai:o4-mini": { context: 200_000, output: 100_000 },
  "zhipu:glm-4.7": { context: 200_000, output: 65_536 },
  "deepseek:": { context: 128_000, output: 8_192 },
  "ollama:": { context: 32_768, output: 8_192 },
};

/**
 * The limits of `provider:name`. `contextLimit` (tokens, `MILLRACE_CONTEXT_LIMIT`) can only lower the context: a model
 * never reads more than it can.
 */
export function modelLimits(model: string, contextLimit?: number): ModelLimits {
  const keys = Object.keys(table).filter((key) => model.startsWith(key));
  const longest = keys.toSorted((a, b) => b.length - a.length)[0];
  const limits = (longest === undefined ? undefined : table[longest]) ?? fallback;
  const context = contextLimit === undefined ? limits.context : Math.min(limits.context, contextLimit);
  return { context, output: Math.min(limits.output, context) };
}

/** Tokens that are left to read, once the longest answer has its room and `used` is taken (TOKEN-06); never below 0. */
export function availableContext(limits: ModelLimits, used: number): number {
  return Math.max(0, limits.context - limits.output - used);
}
