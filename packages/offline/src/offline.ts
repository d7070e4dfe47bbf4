import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import type { BaseLanguageModelInput } from "@langchain/core/language_models/base";
import {
  BaseChatModel,
  type BaseChatModelCallOptions,
  type BindToolsInput,
} from "@langchain/core/language_models/chat_models";
import { AIMessageChunk, type BaseMessage, type UsageMetadata } from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";
import type { Runnable } from "@langchain/core/runnables";
import { convertToOpenAITool } from "@langchain/core/utils/function_calling";
import { z } from "zod";
import { readConversation } from "./conversation.ts";
import { reply, type Reply } from "./rules.ts";
import { toPieces } from "./text.ts";

interface OfflineCallOptions extends BaseChatModelCallOptions {
  tools?: unknown[];
}

const BoundTool = z.looseObject({
  function: z.looseObject({
    name: z.string(),
    parameters: z.looseObject({ properties: z.record(z.string(), z.unknown()).optional() }).optional(),
  }),
});
const ForcedTool = z.union([z.string(), z.looseObject({ function: z.object({ name: z.string() }) })]).optional();

const words = new Set(["auto", "none", "any", "required"]);

/**
 * A rule-based model: deterministic, offline, English and Chinese. It calls the offered tools in as many steps as
 * needed, answers the workflow's own prompts, and states what it is.
 */
export class OfflineModel extends BaseChatModel<OfflineCallOptions> {
  /** Today's date, `YYYY-MM-DD`; set by tests. */
  readonly #today: () => string;

  constructor(today: () => string = currentDay) {
    super({});
    this.#today = today;
  }

  override _llmType(): string {
    return "offline";
  }

  override bindTools(
    tools: BindToolsInput[],
    kwargs: Partial<OfflineCallOptions> = {},
  ): Runnable<BaseLanguageModelInput, AIMessageChunk, OfflineCallOptions> {
    return this.withConfig({ ...kwargs, tools: tools.map((tool) => convertToOpenAITool(tool)) });
  }

  override async _generate(messages: BaseMessage[], options: this["ParsedCallOptions"]): Promise<ChatResult> {
    const chunks = await Array.fromAsync(this._streamResponseChunks(messages, options));
    return { generations: [chunks.reduce((sum, chunk) => sum.concat(chunk))] };
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const answer = this.#reply(messages, options);
    const id = `offline-${crypto.randomUUID()}`;
    for (const message of chunksOf(answer, id, usageOf(messages, answer))) {
      options.signal?.throwIfAborted();
      const text = message.text;
      const chunk = new ChatGenerationChunk({ text, message });
      yield chunk;
      await runManager?.handleLLMNewToken(text, undefined, undefined, undefined, undefined, { chunk });
    }
  }

  #reply(messages: BaseMessage[], options: this["ParsedCallOptions"]): Reply {
    const forced = ForcedTool.parse(options.tool_choice);
    const name = typeof forced === "string" ? forced : forced?.function.name;
    const tools = z.array(BoundTool).parse(name === "none" ? [] : (options.tools ?? []));
    const offered = tools.map(({ function: tool }) => ({
      name: tool.name,
      parameters: Object.keys(tool.parameters?.properties ?? {}),
    }));
    const wanted = name === undefined || words.has(name) ? undefined : name;
    return reply(readConversation(messages), offered, wanted, this.#today());
  }
}

function* chunksOf(answer: Reply, id: string, usage: UsageMetadata): Generator<AIMessageChunk> {
  if (answer.kind === "text") {
    for (const content of toPieces(answer.text)) yield new AIMessageChunk({ id, content });
  } else {
    for (const [index, call] of answer.calls.entries()) {
      const piece = {
        index,
        id: call.id,
        name: call.name,
        args: JSON.stringify(call.args),
        type: "tool_call_chunk" as const,
      };
      yield new AIMessageChunk({ id, content: "", tool_call_chunks: [piece] });
    }
  }
  const metadata = { model_name: "offline", finish_reason: answer.kind === "calls" ? "tool_calls" : "stop" };
  yield new AIMessageChunk({ id, content: "", response_metadata: metadata, usage_metadata: usage });
}

/** Estimated tokens: four characters each. */
function usageOf(messages: BaseMessage[], answer: Reply): UsageMetadata {
  const input = Math.ceil(messages.reduce((total, message) => total + message.text.length, 0) / 4);
  const written = answer.kind === "text" ? answer.text : JSON.stringify(answer.calls);
  const output = Math.max(1, Math.ceil(written.length / 4));
  return { input_tokens: input, output_tokens: output, total_tokens: input + output };
}

/** Today in the machine's time zone. */
function currentDay(): string {
  // Swedish dates have this format.
  return new Date().toLocaleDateString("sv-SE");
}

/** The provider of the offline model, without key, network or model names. An app adds it to its registry. */
export const offline = {
  title: "Offline",
  baseUrl: undefined,
  create: () => new OfflineModel(),
  unreachableHint: "The offline model needs no network.",
  unknownModelHint: () => "The offline model has no other names.",
};
