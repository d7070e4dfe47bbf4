import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import type {
  BaseChatModel,
  BaseChatModelCallOptions,
  BindToolsInput,
} from "@langchain/core/language_models/chat_models";
import type { BaseMessage } from "@langchain/core/messages";
import type { ChatGenerationChunk, ChatResult } from "@langchain/core/outputs";
import { isAnswerBeginning } from "../messages/answer-beginning.ts";
import { WrappedModel } from "../wrapped-model.ts";
import { readChunks, readWhole, type ReplyReading, type WritingHabits } from "./read-reply.ts";
import { callableNames, listTools, type ListedTool } from "./tool-list.ts";

interface ToolOptions extends BaseChatModelCallOptions {
  tools?: BindToolsInput[];
}

/**
 * Cleans the text of a model with native calls: reasoning in tags becomes reasoning, and calls its server left in the
 * text become tool calls, streamed or not.
 */
export class UnmixedModel extends WrappedModel<ToolOptions> {
  readonly #habits: WritingHabits;

  constructor(model: BaseChatModel, habits: WritingHabits) {
    super(model);
    this.#habits = habits;
  }

  override async _generate(messages: BaseMessage[], options: this["ParsedCallOptions"]): Promise<ChatResult> {
    const result = await this.wrapped._generate(messages, options);
    const [first, ...others] = result.generations;
    if (first === undefined) return result;
    return { ...result, generations: [readWhole(first, this.#reading(messages, options)), ...others] };
  }

  override _streamResponseChunks(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const reply = this.wrapped._streamResponseChunks(messages, options);
    return readChunks(reply, this.#reading(messages, options), runManager);
  }

  #reading(messages: readonly BaseMessage[], { tools = [], tool_choice }: this["ParsedCallOptions"]): ReplyReading {
    const hasForms = this.#habits.forms === undefined || this.#habits.forms.size > 0;
    const listed = hasForms ? listTools(tools, tool_choice) : new Map<string, ListedTool>();
    // A continued answer has finished its reasoning.
    const habits = isAnswerBeginning(messages.at(-1)) ? { ...this.#habits, opensInThought: false } : this.#habits;
    return { names: hasForms ? callableNames(listed, messages) : [], tools: listed, habits };
  }
}
