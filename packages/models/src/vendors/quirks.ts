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
  /** Whether the model thinks also where its answer is not streamed, or must be JSON. */
  thinksUnstreamed: boolean;
  thinksInJson: boolean;
  /** Whether a temperature may be sent while it thinks, and the highest that there is. */
  thinkingTemperature: boolean;
  highestTemperature: number;
  /** The tool by which it searches the web by itself; absent: it does not. */
  searchTool?: "web_search";
  /** Whether some models are asked through OpenAI's `/responses`, as OpenAI itself demands for a few. */
  hasResponses: boolean;
  /** Whether thoughts come sealed there, and go back to who has sealed them within the turn. */
  sealedReasoning: boolean;
  /** Images have to stand before the text of their message. */
  imagesFirst: boolean;
  /** Reasons for the end of an answer which mean that it broke off. */
  brokenEnds: readonly string[];
  /** The field of the last message which says that the answer begins with it; absent: it cannot be begun. */
  beginningField?: "prefix" | "partial" | undefined;
  /** The path under which such a request is taken, in the place of the usual one's `/v1`. */
  beginningPath?: string;
  /** Whether it is taken also while the model thinks. */
  beginningWhileThinking: boolean;
}

/** OpenAI's own rules. Its reasoning models keep their thoughts and refuse a temperature. */
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

/** Servers of the user's own (vLLM, LM Studio, llama.cpp, gateways): nothing is sent that OpenAI does not know. */
export const compatibleQuirks: Quirks = {
  ...openaiQuirks,
  thinkingTemperature: true,
  hasResponses: false,
  sealedReasoning: false,
};

/** Zhipu GLM: thoughts between calls are to be handed back, and only `auto` chooses tools. */
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

/** SiliconFlow: many models of others, among them ones (DeepSeek R1) that refuse thoughts in a request. */
export const siliconflowQuirks: Quirks = { ...compatibleQuirks, thinkingField: "enable_thinking" };

/** DeepSeek: since V3.2 a message that calls tools must bear the thoughts before it, in every later request too. */
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

/** Qwen (DashScope): several models think only where they stream, and none where a tool is forced or JSON is wanted. */
export const qwenQuirks: Quirks = {
  ...compatibleQuirks,
  thinkingField: "enable_thinking",
  forcedTool: "unless_thinking",
  thinksUnstreamed: false,
  thinksInJson: false,
  beginningField: "partial",
};

/**
 * Ollama, which speaks in a way of its own: what it is told beside this is in `ollama/request.ts`. It chooses tools
 * alone. A grammar for JSON and thoughts get into each other's way in some of its versions.
 */
export const ollamaQuirks: Quirks = {
  ...compatibleQuirks,
  thinkingField: "think",
  reasoningBack: "turn",
  forcedTool: "never",
  thinksInJson: false,
};
