import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import type {
  BaseChatModel,
  BaseChatModelCallOptions,
  BindToolsInput,
} from "@langchain/core/language_models/chat_models";
import { AIMessage, isAIMessage, type BaseMessage } from "@langchain/core/messages";
import type { ChatGeneration, ChatGenerationChunk, ChatResult } from "@langchain/core/outputs";
import { builtInPrompts, type Prompts } from "../../prompts/prompts.ts";
import { xmlToolsText, type CallGrammar } from "../../prompts/xml-tools.ts";
import { hasClosingMark } from "../watch-stream.ts";
import { WrappedModel } from "../wrapped-model.ts";
import { createTextCallParser, type TextCallParser } from "./parser.ts";
import { ChunkMaker, gather, withoutText } from "./reply-chunks.ts";
import { listTools, type ListedTool } from "./tool-list.ts";
import { writtenMessages } from "./written.ts";

interface TextCallOptions extends BaseChatModelCallOptions {
  tools?: BindToolsInput[];
}

/** How the calls of a model are told and read. */
export interface TextCalls {
  grammar: CallGrammar;
  /** Where the words come from that tell the form; absent: the built-in ones. */
  prompts?: Prompts | undefined;
}

/** A request as the model reads it, and what its reply is read with. */
interface Written {
  messages: BaseMessage[];
  tools: Map<string, ListedTool>;
  parser: TextCallParser;
}

/**
 * A model without tool calls of its own, made to have them (XML-01): tools, calls and results go to it as text, and the calls
 * in its replies come out as a message's calls, streamed or not. Whoever uses it sees no difference.
 */
export class TextCallModel extends WrappedModel<TextCallOptions> {
  readonly #calls: TextCalls;

  constructor(model: BaseChatModel, calls: TextCalls) {
    super(model);
    this.#calls = calls;
  }

  override async _generate(messages: BaseMessage[], options: this["ParsedCallOptions"]): Promise<ChatResult> {
    const { written, rest } = this.#write(messages, options);
    const result = await this.wrapped._generate(written.messages, rest);
    const [first, ...others] = result.generations;
    return first === undefined ? result : { ...result, generations: [readWhole(first, written), ...others] };
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const { written, rest } = this.#write(messages, options);
    for await (const chunk of readChunks(this.wrapped._streamResponseChunks(written.messages, rest), written)) {
      yield chunk;
      await runManager?.handleLLMNewToken(chunk.text, undefined, undefined, undefined, undefined, { chunk });
    }
  }

  #write(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
  ): { written: Written; rest: Omit<TextCallOptions, "tools" | "tool_choice"> } {
    const { tools = [], tool_choice, ...rest } = options;
    const { grammar, prompts = builtInPrompts } = this.#calls;
    const listed = listTools(tools, tool_choice);
    const texts = [...listed.values()].map(({ text }) => text);
    const told = texts.length === 0 ? "" : xmlToolsText({ tools: texts, grammar }, prompts);
    // A model goes on calling what it has called, also where there are no tools any more; nobody is to read that.
    const called = messages.filter((message) => isAIMessage(message)).flatMap(({ tool_calls = [] }) => tool_calls);
    const names = new Set([...listed.keys(), ...called.map(({ name }) => name)]);
    return {
      written: {
        messages: writtenMessages(messages, told, grammar),
        tools: listed,
        parser: createTextCallParser([...names]),
      },
      rest,
    };
  }
}

/** The reply as it streams, its calls apart. Words are held back only while they may be the beginning of a call. */
async function* readChunks(
  chunks: AsyncIterable<ChatGenerationChunk>,
  { parser, tools }: Written,
): AsyncGenerator<ChatGenerationChunk> {
  const maker = new ChunkMaker(tools);
  let id: string | undefined;
  let isOver = false;
  for await (const chunk of chunks) {
    id ??= chunk.message.id;
    const found = parser.push(chunk.text);
    // What the reply ends with has to come before the mark that it is over.
    if (!isOver && hasClosingMark(chunk)) {
      isOver = true;
      found.push(...parser.end());
    }
    for (const part of found) yield maker.chunk(part, id);
    const other = withoutText(chunk);
    if (other !== undefined) yield other;
  }
  if (!isOver) for (const part of parser.end()) yield maker.chunk(part, id);
}

function readWhole(generation: ChatGeneration, { parser, tools }: Written): ChatGeneration {
  const { message } = generation;
  if (!isAIMessage(message)) return generation;
  const found = gather([...parser.push(message.text), ...parser.end()], tools);
  const { additional_kwargs, response_metadata, usage_metadata, tool_calls = [], invalid_tool_calls = [] } = message;
  const known = additional_kwargs["reasoning_content"];
  const reasoning = `${typeof known === "string" ? known : ""}${found.reasoning}`;
  const read = new AIMessage({
    ...(message.id === undefined ? {} : { id: message.id }),
    content: found.content,
    additional_kwargs: { ...additional_kwargs, ...(reasoning === "" ? {} : { reasoning_content: reasoning }) },
    response_metadata,
    tool_calls: [...tool_calls, ...found.calls],
    invalid_tool_calls: [
      ...invalid_tool_calls,
      ...found.broken.map((call) => ({ ...call, type: "invalid_tool_call" as const })),
    ],
  });
  // The field's own type comes out as `undefined` under exactOptionalPropertyTypes, so it cannot be given to the constructor.
  const whole = usage_metadata === undefined ? read : Object.assign(read, { usage_metadata });
  return { ...generation, text: found.content, message: whole };
}
