import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import type {
  BaseChatModel,
  BaseChatModelCallOptions,
  BindToolsInput,
} from "@langchain/core/language_models/chat_models";
import type { BaseMessage } from "@langchain/core/messages";
import type { ChatGenerationChunk, ChatResult } from "@langchain/core/outputs";
import { WrappedModel } from "../wrapped-model.ts";
import { readChunks, readWhole, type ReplyReading, type WritingHabits } from "./read-reply.ts";
import { callableNames, listTools } from "./tool-list.ts";
import { describeTools, type CallGrammar, type DescribeTools } from "../describe-tools.ts";
import { writtenMessages } from "./forms/written.ts";

interface TextCallOptions extends BaseChatModelCallOptions {
  tools?: BindToolsInput[];
}

/** How a model's calls are described and parsed. */
export interface TextCalls {
  grammar: CallGrammar;
  /** Describes the format and the tools to the model; absent: the built-in text. */
  describeTools?: DescribeTools | undefined;
  /** Whether its replies begin in reasoning; default no. It is learned, too. */
  opensInThought?: boolean;
}

/** A request in the model's format, and the context for reading its reply. */
interface Written {
  messages: BaseMessage[];
  reading: ReplyReading;
}

/**
 * Gives tool calls to a model without native ones: tools, calls and results are sent as text, and calls in its replies
 * become message tool calls, streamed or not. Callers see no difference.
 */
export class TextCallModel extends WrappedModel<TextCallOptions> {
  readonly #calls: TextCalls;
  readonly #habits: WritingHabits;

  constructor(model: BaseChatModel, calls: TextCalls) {
    super(model);
    this.#calls = calls;
    this.#habits = { opensInThought: calls.opensInThought ?? false };
  }

  override async _generate(messages: BaseMessage[], options: this["ParsedCallOptions"]): Promise<ChatResult> {
    const { written, rest } = this.#write(messages, options);
    const result = await this.wrapped._generate(written.messages, rest);
    const [first, ...others] = result.generations;
    return first === undefined ? result : { ...result, generations: [readWhole(first, written.reading), ...others] };
  }

  override _streamResponseChunks(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const { written, rest } = this.#write(messages, options);
    const reply = this.wrapped._streamResponseChunks(written.messages, rest);
    return readChunks(reply, written.reading, runManager);
  }

  #write(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
  ): { written: Written; rest: Omit<TextCallOptions, "tools" | "tool_choice"> } {
    const { tools = [], tool_choice, ...rest } = options;
    const { grammar, describeTools: describe = describeTools } = this.#calls;
    const listed = listTools(tools, tool_choice);
    const texts = [...listed.values()].map(({ text }) => text);
    const description = texts.length === 0 ? "" : describe(texts, grammar);
    return {
      written: {
        messages: writtenMessages(messages, description, grammar),
        reading: { names: callableNames(listed, messages), tools: listed, habits: this.#habits },
      },
      rest,
    };
  }
}
