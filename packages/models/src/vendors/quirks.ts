/**
 * Differences of a vendor from OpenAI, for OpenAI-compatible vendors and Ollama. Pure data, applied in `request.ts` and
 * `answer.ts`; the table in docs/assistant/providers.md names the tests.
 */
export interface Quirks {
  /** The field that switches optional thinking; absent: none. */
  thinkingField?: "thinking" | "enable_thinking" | "think" | "chat_template_kwargs" | undefined;
  /**
   * Which reasoning is sent back: that of all messages with tool calls (the vendor requires it), that since the user's
   * last message, or none (some vendors refuse it).
   */
  reasoningBack: "calls" | "turn" | "none";
  /** When a tool can be forced; otherwise only that tool is offered. */
  forcedTool: "always" | "unless_thinking" | "never";
  /** Whether the model also thinks if the answer is not streamed or must be JSON. */
  thinksUnstreamed: boolean;
  thinksInJson: boolean;
  /** Whether a temperature may be sent while it thinks, and the maximum. */
  thinkingTemperature: boolean;
  highestTemperature: number;
  /** The tool for its built-in web search; absent: none. */
  searchTool?: "web_search";
  /** Whether some models use OpenAI's `/responses`, as OpenAI requires for a few. */
  hasResponses: boolean;
  /** Whether reasoning is encrypted there, and sent back to the same model within the turn. */
  sealedReasoning: boolean;
  /** Images must precede the text of their message. */
  imagesFirst: boolean;
  /** Finish reasons that mean an aborted answer. */
  brokenEnds: readonly string[];
  /** The field that marks the last message as the answer's beginning; absent: unsupported. */
  beginningField?: "prefix" | "partial" | undefined;
  /** The path for such requests, instead of the usual `/v1`. */
  beginningPath?: string;
  /** Whether that also works while the model thinks. */
  beginningWhileThinking: boolean;
}

/** OpenAI's own rules. Its reasoning models hide their reasoning and refuse a temperature. */
export const openaiQuirks: Quirks = {
  reasoningBack: "none",
  forcedTool: "always",
  thinksUnstreamed: true,
  thinksInJson: true,
  thinkingTemperature: false,
  highestTemperature: 2,
  hasResponses: true,
  sealedReasoning: true,
  imagesFirst: false,
  brokenEnds: [],
  beginningWhileThinking: false,
};

/** Self-hosted servers (vLLM, LM Studio, llama.cpp, gateways): only fields known to OpenAI are sent. */
export const compatibleQuirks: Quirks = {
  ...openaiQuirks,
  thinkingTemperature: true,
  hasResponses: false,
  sealedReasoning: false,
};

/** Zhipu GLM: reasoning between calls must be sent back, and only `auto` is supported as a tool choice. */
export const zhipuQuirks: Quirks = {
  ...compatibleQuirks,
  thinkingField: "thinking",
  reasoningBack: "turn",
  forcedTool: "never",
  highestTemperature: 1,
  imagesFirst: true,
  brokenEnds: ["network_error"],
  searchTool: "web_search",
};

/** SiliconFlow: hosts many models, some of which (DeepSeek R1) refuse reasoning in a request. */
export const siliconflowQuirks: Quirks = { ...compatibleQuirks, thinkingField: "enable_thinking" };

/** DeepSeek: since V3.2 a message with tool calls must include the preceding reasoning, in every later request. */
export const deepseekQuirks: Quirks = {
  ...compatibleQuirks,
  thinkingField: "thinking",
  reasoningBack: "calls",
  forcedTool: "unless_thinking",
  brokenEnds: ["insufficient_system_resource"],
  beginningField: "prefix",
  beginningPath: "/beta",
  beginningWhileThinking: true,
};

/** Qwen (DashScope): several models think only when streaming, and none with a forced tool or JSON. */
export const qwenQuirks: Quirks = {
  ...compatibleQuirks,
  thinkingField: "enable_thinking",
  forcedTool: "unless_thinking",
  thinksUnstreamed: false,
  thinksInJson: false,
  beginningField: "partial",
};

/**
 * Ollama has its own API: further differences are in `ollama/request.ts`. It cannot force tools. In some versions a
 * JSON grammar conflicts with thinking.
 */
export const ollamaQuirks: Quirks = {
  ...compatibleQuirks,
  thinkingField: "think",
  reasoningBack: "turn",
  forcedTool: "never",
  thinksInJson: false,
};
