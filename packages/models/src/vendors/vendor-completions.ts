import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import type { BaseMessage } from "@langchain/core/messages";
import type { ChatGenerationChunk, ChatResult } from "@langchain/core/outputs";
import { ChatOpenAICompletions, type ChatOpenAIFields } from "@langchain/openai";
import { isAnswerBeginning } from "../messages/answer-beginning.ts";
import type { FoundPage } from "../messages/search-result.ts";
import type { Timeouts } from "../provider.ts";
import { watchStream } from "../resilience/watch-stream.ts";
import { plainAnswer, requireAnswer } from "./answer.ts";
import { callPlaces } from "./call-places.ts";
import { foundIn, keepFound, withFound } from "./found-pages.ts";
import { vendorRequest, type Asked, type SentRequest } from "./request.ts";

/** Under these names the messages of a call, and who waits for its answer, reach the place where its request is written. */
const sources = Symbol("sources");
const agreed = Symbol("agreed");
/** And under this one, what the vendor says it has found on the web comes back. */
const found = Symbol("found");

interface WithSources {
  signal?: AbortSignal | null | undefined;
  [sources]?: readonly BaseMessage[];
  /** Told when the server has begun to answer. */
  [agreed]?: () => void;
  [found]?: FoundPage[];
}

/**
 * Chat completions as a vendor wants them: requests and answers are changed by its quirks, and streams never end in
 * silence or half-way unnoticed.
 */
export class VendorCompletions extends ChatOpenAICompletions {
  readonly #asked: Asked;
  readonly #timeouts: Timeouts;

  constructor(fields: ChatOpenAIFields, asked: Asked, timeouts: Timeouts) {
    super(fields);
    this.#asked = asked;
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
    for (const { message } of result.generations) keepFound(message, pages);
    return result;
  }

  override _streamResponseChunks(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const open = (signal: AbortSignal, tell: () => void): AsyncGenerator<ChatGenerationChunk> => {
      const pages: FoundPage[] = [];
      const request = { ...options, signal, [sources]: messages, [agreed]: tell, [found]: pages };
      const chunks = super._streamResponseChunks(messages, request, runManager);
      return this.#asked.quirks.searchTool === undefined ? chunks : withFound(chunks, pages);
    };
    return watchStream(open, { signal: options.signal, timeouts: this.#timeouts });
  }

  /** One signature for both of the client's, streamed and not, so that both go through the same place. */
  override async completionWithRetry(request: SentRequest, options: WithSources = {}): Promise<never> {
    const { [sources]: messages = [], [agreed]: tell, [found]: pages = [], ...rest } = options;
    const written = vendorRequest(request, messages, this.#asked);
    // The client's types tell apart what is streamed and what is not; here it is the same.
    const answer: unknown = await super.completionWithRetry(written as never, { ...rest, ...this.#place(messages) });
    tell?.();
    const { quirks } = this.#asked;
    const placeOf = callPlaces();
    const plain = (piece: unknown): unknown => {
      if (quirks.searchTool !== undefined) pages.push(...foundIn(piece));
      return plainAnswer(piece, quirks, placeOf);
    };
    return (isStream(answer) ? plainChunks(answer, plain) : plain(requireAnswer(answer))) as never;
  }

  /** Where a request goes that is not taken at the usual place. */
  #place(messages: readonly BaseMessage[]): { path?: string } {
    const { beginningPath } = this.#asked.quirks;
    const { baseURL } = this.clientConfig;
    if (beginningPath === undefined || typeof baseURL !== "string" || !isAnswerBeginning(messages.at(-1))) return {};
    return { path: `${baseURL.replace(/\/v1\/?$/u, "")}${beginningPath}/chat/completions` };
  }
}

function isStream(answer: unknown): answer is AsyncIterable<unknown> {
  return typeof answer === "object" && answer !== null && Symbol.asyncIterator in answer;
}

/** Not a generator: that would cost each piece of each answer two more turns of the queue. */
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
            // Whoever reads closes only what has not failed.
            await close();
            throw error;
          }
        },
        return: close,
      };
    },
  };
}
