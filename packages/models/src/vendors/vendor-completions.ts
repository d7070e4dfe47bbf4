import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import type { BaseMessage } from "@langchain/core/messages";
import type { ChatGenerationChunk, ChatResult } from "@langchain/core/outputs";
import { ChatOpenAICompletions, type ChatOpenAIFields } from "@langchain/openai";
import { isAnswerBeginning } from "../messages/answer-beginning.ts";
import type { FoundPage } from "../messages/search-result.ts";
import type { Timeouts } from "../provider.ts";
import { watchStream } from "../resilience/watch-stream.ts";
import { normalizeAnswer, requireAnswer } from "./answer.ts";
import { callPlaces } from "./call-places.ts";
import { foundPagesIn, storeFoundPages, withFoundPages } from "./found-pages.ts";
import { vendorRequest, type VendorContext, type SentRequest } from "./request.ts";

/** Call option for the messages, for use where the request is built. */
const sources = Symbol("sources");
const agreed = Symbol("agreed");
/** Call option that returns the web pages the vendor found. */
const found = Symbol("found");

interface WithSources {
  signal?: AbortSignal | null | undefined;
  [sources]?: readonly BaseMessage[];
  /** Called when the server starts to respond. */
  [agreed]?: () => void;
  [found]?: FoundPage[];
}

/**
 * Chat completions with a vendor's quirks applied to requests and answers; streams never end silently or incomplete.
 */
export class VendorCompletions extends ChatOpenAICompletions {
  readonly #context: VendorContext;
  readonly #timeouts: Timeouts;

  constructor(fields: ChatOpenAIFields, context: VendorContext, timeouts: Timeouts) {
    super(fields);
    this.#context = context;
    this.#timeouts = timeouts;
  }

  override async _generate(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): Promise<ChatResult> {
    const pages: FoundPage[] = [];
    const request = { ...options.options, [sources]: messages, [found]: pages };
    const result = await super._generate(messages, { ...options, options: request }, runManager);
    for (const { message } of result.generations) storeFoundPages(message, pages);
    return result;
  }

  override _streamResponseChunks(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const open = (signal: AbortSignal, onAgreed: () => void): AsyncGenerator<ChatGenerationChunk> => {
      const pages: FoundPage[] = [];
      const request = { ...options, signal, [sources]: messages, [agreed]: onAgreed, [found]: pages };
      const chunks = super._streamResponseChunks(messages, request, runManager);
      return this.#context.quirks.searchTool === undefined ? chunks : withFoundPages(chunks, pages);
    };
    return watchStream(open, { signal: options.signal, timeouts: this.#timeouts });
  }

  /** One signature for the client's overloads, so that streamed and unstreamed calls share one path. */
  override async completionWithRetry(request: SentRequest, options: WithSources = {}): Promise<never> {
    const { [sources]: messages = [], [agreed]: onAgreed, [found]: pages = [], ...rest } = options;
    const written = vendorRequest(request, messages, this.#context);
    // The client's types distinguish streamed from unstreamed; here both are alike.
    const answer: unknown = await super.completionWithRetry(written as never, { ...rest, ...this.#place(messages) });
    onAgreed?.();
    const { quirks } = this.#context;
    const placeOf = callPlaces();
    const plain = (piece: unknown): unknown => {
      if (quirks.searchTool !== undefined) pages.push(...foundPagesIn(piece));
      return normalizeAnswer(piece, quirks, placeOf);
    };
    return (isStream(answer) ? plainChunks(answer, plain) : plain(requireAnswer(answer))) as never;
  }

  /** The address for requests that need a path other than the usual one. */
  #place(messages: readonly BaseMessage[]): { path?: string } {
    const { beginningPath } = this.#context.quirks;
    const { baseURL } = this.clientConfig;
    if (beginningPath === undefined || typeof baseURL !== "string" || !isAnswerBeginning(messages.at(-1))) return {};
    return { path: `${baseURL.replace(/\/v1\/?$/u, "")}${beginningPath}/chat/completions` };
  }
}

function isStream(answer: unknown): answer is AsyncIterable<unknown> {
  return typeof answer === "object" && answer !== null && Symbol.asyncIterator in answer;
}

/** Not a generator, which would cost each chunk two more turns of the queue. */
function plainChunks(chunks: AsyncIterable<unknown>, plain: (piece: unknown) => unknown): AsyncIterable<unknown> {
  return {
    [Symbol.asyncIterator]() {
      const pieces = chunks[Symbol.asyncIterator]();
      const close = async (): Promise<IteratorResult<unknown>> => {
        await pieces.return?.();
        return { done: true, value: undefined };
      };
      return {
        async next() {
          const next = await pieces.next();
          if (next.done === true) return next;
          try {
            return { done: false, value: plain(next.value) };
          } catch (error) {
            // Readers only close what has not failed.
            await close();
            throw error;
          }
        },
        return: close,
      };
    },
  };
}
