/** Abilities derived from a model's name. */
export interface NamedAbilities {
  vision: boolean;
  tools: boolean;
  chat: boolean;
  /** Tokens; `undefined` for unknown names. */
  contextLength: number | undefined;
}

/** Names of vision models. */
const seeing = /llava|bakllava|vision|-vl\b|vl:|moondream/u;
/** Names of embedding models. */
const embedding = /embed|^(?:.*\/)?(?:bge|all-minilm|gte)\b/u;

/** Families whose templates support tools. */
const withTools = [
  "qwen2",
  "qwen2.5",
  "qwen2.5-coder",
  "qwen3",
  "qwen3-coder",
  "qwq",
  "llama3.1",
  "llama3.2",
  "llama3.3",
  "llama4",
  "mistral",
  "mistral-nemo",
  "mistral-small",
  "mistral-large",
  "mixtral",
  "devstral",
  "command-r",
  "command-r-plus",
  "granite3-dense",
  "granite3.1-dense",
  "granite3.3",
  "hermes3",
  "gpt-oss",
  "deepseek-v3",
  "smollm2",
];

/** Context lengths of families, from their makers. */
const contextLengths: Readonly<Record<string, number>> = {
  qwen2: 32_768,
  "qwen2.5": 32_768,
  "qwen2.5-coder": 32_768,
  qwen3: 40_960,
  llama2: 4096,
  llama3: 8192,
  "llama3.1": 131_072,
  "llama3.2": 131_072,
  "llama3.3": 131_072,
  mistral: 32_768,
  mixtral: 32_768,
  codellama: 16_384,
  "deepseek-coder": 16_384,
  "deepseek-r1": 131_072,
  gemma: 8192,
  gemma2: 8192,
  gemma3: 131_072,
  llava: 4096,
  bakllava: 32_768,
  "gpt-oss": 131_072,
};

/** Parses a name such as `qwen2.5:7b` or `library/llama3.1:8b`, for servers that do not report abilities. */
export function namedAbilities(name: string): NamedAbilities {
  const family = (name.split(":")[0] ?? "").split("/").at(-1)?.toLowerCase() ?? "";
  return {
    vision: seeing.test(name.toLowerCase()),
    tools: withTools.includes(family),
    chat: !embedding.test(name.toLowerCase()),
    contextLength: Object.hasOwn(contextLengths, family) ? contextLengths[family] : undefined,
  };
}
