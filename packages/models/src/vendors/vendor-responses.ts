import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import type { BaseMessage } from "@langchain/core/messages";
import type { ChatGenerationChunk, ChatResult } from "@langchain/core/outputs";
import { ChatOpenAIResponses, type ChatOpenAIFields } from "@langchain/openai";
import { z } from "zod";
import { thinksFirst } from "../call-defaults.ts";
import type { Timeouts } from "../provider.ts";
import { watchStream } from "../resilience/watch-stream.ts";
import type { VendorContext } from "./request.ts";
import { plainPiece, plainWhole, readEvent, readWhole } from "./response.ts";
import {
  isUnreadable,
  keepSealed,
  outputOf,
  sealedInclude,
  sealedInput,
  sealerOf,
  withSealed,
} from "./sealed-reasoning.ts";

/** Call options for the response callback and the messages, for use where the request is built. */
const agreed = Symbol("agreed");
const sources = Symbol("sources");
/** Call option that returns the answer's output parts. */
const parts = Symbol("parts");

interface WithSources {
  signal?: AbortSignal | null | undefined;
  [agreed]?: () => void;
  [sources]?: readonly BaseMessage[];
  [parts]?: unknown[];
}

const Input = z.array(z.unknown());

/** The changed fields of the client's request. */
interface WrittenRequest {
  input?: unknown;
  temperature?: number | null | undefined;
}

/**
 * OpenAI's `/responses`, required by some of its models: guarded like chat completions, with answers in the same form.
 * Nothing is stored at the vendor: each request contains the whole conversation.
 */
export class VendorResponses extends ChatOpenAIResponses {
  readonly #context: VendorContext;
  readonly #timeouts: Timeouts;

  constructor(fields: ChatOpenAIFields, context: VendorContext, timeouts: Timeouts) {
    super({ ...fields, zdrEnabled: true });
    this.#context = context;
    this.#timeouts = timeouts;
  }

  override async _generate(messages: BaseMessage[], options: this["ParsedCallOptions"]): Promise<ChatResult> {
    const output: unknown[] = [];
    const request = { ...options.options, [sources]: messages, [parts]: output };
    const result = await super._generate(messages, { ...options, options: request });
    const generations = result.generations.map((generation) => plainWhole(generation));
    for (const { message } of generations) keepSealed(message, output, this.#sealer());
    return { ...result, generations };
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const open = (signal: AbortSignal, onAgreed: () => void): AsyncGenerator<ChatGenerationChunk> => {
      const output: unknown[] = [];
      const request = { ...options, signal, [agreed]: onAgreed, [sources]: messages, [parts]: output };
      const pieces = plainPieces(super._streamResponseChunks(messages, request));
      return withSealed(pieces, output, this.#sealer());
    };
    for await (const chunk of watchStream(open, { signal: options.signal, timeouts: this.#timeouts })) {
      yield chunk;
      await runManager?.handleLLMNewToken(chunk.text, undefined, undefined, undefined, undefined, { chunk });
    }
  }

  /** One signature for the client's overloads, so that streamed and unstreamed calls share one path. */
  override async completionWithRetry(request: WrittenRequest, options: WithSources = {}): Promise<never> {
    const { [agreed]: onAgreed, [sources]: messages = [], [parts]: output = [], ...rest } = options;
    const { quirks, profile, options: chosen } = this.#context;
    const thinks = thinksFirst(profile, chosen);
    const isSealed = thinks && quirks.sealedReasoning;
    const input = spoken(request.input);
    const written = {
      ...request,
      ...(isSealed ? { include: sealedInclude } : {}),
      ...(thinks && !quirks.thinkingTemperature ? { temperature: undefined } : {}),
    };
    // The client's types distinguish streamed from unstreamed; here both are alike.
    const send = (items: unknown[]): Promise<unknown> =>
      super.completionWithRetry({ ...written, input: items } as never, rest);
    const answer = isSealed ? await this.#sendSealed(input, messages, send) : await send(input);
    onAgreed?.();
    if (isStream(answer)) return readEvents(answer, isSealed ? output : undefined) as never;
    if (isSealed) output.push(...outputOf(answer));
    return readWhole(answer) as never;
  }

  /** Drops reasoning that the vendor can no longer read; the model thinks again. */
  async #sendSealed(
    input: unknown[],
    messages: readonly BaseMessage[],
    send: (items: unknown[]) => Promise<unknown>,
  ): Promise<unknown> {
    const sealed = sealedInput(input, messages, this.#sealer());
    try {
      return await send(sealed);
    } catch (error) {
      if (sealed.length === input.length || !isUnreadable(error)) throw error;
      return await send(input);
    }
  }

  #sealer(): string {
    return sealerOf(this.model, this.clientConfig.baseURL);
  }
}

/** Removes empty messages that the client writes before calls. */
function spoken(input: unknown): unknown[] {
  return Input.parse(input).filter((item: unknown) => {
    const isMessage = typeof item === "object" && item !== null && "type" in item && item.type === "message";
    return !(isMessage && "role" in item && item.role === "assistant" && "content" in item && item.content === "");
  });
}

function isStream(answer: unknown): answer is AsyncIterable<unknown> {
  return typeof answer === "object" && answer !== null && Symbol.asyncIterator in answer;
}

/** Passes events through; collects the answer's parts in `output` if given. */
async function* readEvents(events: AsyncIterable<unknown>, output: unknown[] | undefined): AsyncGenerator<unknown> {
  for await (const event of events) {
    if (isPartDone(event)) output?.push(...outputOf(event));
    yield readEvent(event);
  }
}

function isPartDone(event: unknown): boolean {
  return typeof event === "object" && event !== null && "type" in event && event.type === "response.output_item.done";
}

async function* plainPieces(chunks: AsyncIterable<ChatGenerationChunk>): AsyncGenerator<ChatGenerationChunk> {
  let id: string | undefined;
  for await (const chunk of chunks) {
    id ??= chunk.message.id;
    yield plainPiece(chunk, id);
  }
}
