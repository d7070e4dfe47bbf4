import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import { AIMessage, AIMessageChunk, isAIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";
import { ChatOllama, type ChatOllamaInput } from "@langchain/ollama";
import type { Timeouts } from "../provider.ts";
import type { VendorContext } from "../vendors/request.ts";
import { hasClosingMark, watchStream } from "../resilience/watch-stream.ts";
import { markCut } from "./cut-prompt.ts";
import { ollamaRequest, type OllamaRequest } from "./request.ts";
import { wholeLines } from "./whole-lines.ts";

const never = new AbortController().signal;

/** The transport of one call. */
interface OneCall {
  signal: AbortSignal;
  isStreamed: boolean;
  toolChoice: unknown;
  /** Called when the server starts to respond. */
  agreed?: () => void;
}

/**
 * ChatOllama with complete requests, and responses that never end silently or lose text. The package ignores the signal
 * and its abort ends all requests of a client, so each call gets its own client with the signal in its `fetch`. The
 * package always streams; unstreamed calls request one piece here.
 */
export class WatchedOllama extends ChatOllama {
  readonly #fields: ChatOllamaInput;
  readonly #context: VendorContext;
  readonly #timeouts: Timeouts;

  constructor(fields: ChatOllamaInput, context: VendorContext, timeouts: Timeouts) {
    super(fields);
    this.#fields = fields;
    this.#context = context;
    this.#timeouts = timeouts;
  }

  override async _generate(messages: BaseMessage[], options: this["ParsedCallOptions"]): Promise<ChatResult> {
    const { signal = never, tool_choice: toolChoice } = options;
    const call = this.#client(messages, { signal, isStreamed: false, toolChoice });
    const pieces: ChatGenerationChunk[] = [];
    for await (const piece of completed(call._streamResponseChunks([], { ...options, signal }), messages))
      pieces.push(piece);
    const whole = pieces.reduce((left, right) => left.concat(right));
    return { generations: [{ text: whole.text, message: wholeMessage(whole.message) }] };
  }

  override _streamResponseChunks(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const open = (signal: AbortSignal, agreed: () => void): AsyncGenerator<ChatGenerationChunk> => {
      const call = this.#client(messages, { signal, isStreamed: true, toolChoice: options.tool_choice, agreed });
      return completed(call._streamResponseChunks([], { ...options, signal }, runManager), messages);
    };
    return watchStream(open, { signal: options.signal, timeouts: this.#timeouts });
  }

  /** Messages come from `ollamaRequest`, not from the package. */
  #client(messages: BaseMessage[], { signal, isStreamed, toolChoice, agreed }: OneCall): ChatOllama {
    const ask: typeof fetch = async (url, init) => {
      const signals = init?.signal ? [signal, init.signal] : [signal];
      const body = isStreamed ? {} : unstreamed(init?.body);
      const answer = await (this.#fields.fetch ?? fetch)(url, { ...init, ...body, signal: AbortSignal.any(signals) });
      if (!answer.ok) return answer;
      agreed?.();
      return isStreamed ? answer : asLine(await answer.text());
    };
    const call = new ChatOllama({ ...this.#fields, fetch: wholeLines(ask) });
    const { client } = call;
    // One signature for the client's overloads, of which only the streaming one is used.
    const chat = client.chat.bind(client) as (request: OllamaRequest) => Promise<never>;
    client.chat = (request: OllamaRequest) => chat(ollamaRequest(request, messages, { ...this.#context, toolChoice }));
    return call;
  }
}

function wholeMessage(message: ChatGenerationChunk["message"]): AIMessage {
  const { content, additional_kwargs, response_metadata } = message;
  const whole = new AIMessage({ content, additional_kwargs, response_metadata });
  if (!isAIMessageChunk(message)) return whole;
  const { tool_calls = [], usage_metadata } = message;
  return Object.assign(whole, { tool_calls, ...(usage_metadata === undefined ? {} : { usage_metadata }) });
}

/** The request, which the package serialises, without streaming. */
function unstreamed(body: RequestInit["body"]): { body?: string } {
  return typeof body === "string" ? { body: JSON.stringify(Object.assign(JSON.parse(body), { stream: false })) } : {};
}

/** Wraps an unstreamed response as a one-line stream, the only form the package reads. */
function asLine(text: string): Response {
  return new Response(`${JSON.stringify(JSON.parse(text))}\n`);
}

/** Chunks with the fields the package omits. */
async function* completed(
  chunks: AsyncGenerator<ChatGenerationChunk>,
  messages: readonly BaseMessage[],
): AsyncGenerator<ChatGenerationChunk> {
  let calls = 0;
  for await (const chunk of chunks) {
    if (hasClosingMark(chunk)) {
      markCut(chunk, messages);
      addCachedTokens(chunk);
    }
    const { message } = chunk;
    if (isAIMessageChunk(message) && (message.tool_call_chunks ?? []).length > 0) {
      yield numbered(chunk, message, calls);
      calls += message.tool_call_chunks?.length ?? 0;
    } else yield chunk;
  }
}

/** The package gives all calls the same index, so calls in one line would be merged. */
function numbered(chunk: ChatGenerationChunk, message: AIMessageChunk, from: number): ChatGenerationChunk {
  const { content, additional_kwargs, response_metadata, tool_call_chunks = [] } = message;
  const apart = new AIMessageChunk({
    content,
    additional_kwargs,
    response_metadata,
    tool_call_chunks: tool_call_chunks.map((call, place) => ({ ...call, index: from + place })),
  });
  return new ChatGenerationChunk({ text: chunk.text, message: apart });
}

/** Adds cached tokens, a field unknown to the package. */
function addCachedTokens({ message }: ChatGenerationChunk): void {
  const { prompt_eval_cached_count: cache_read }: Record<string, unknown> = message.response_metadata;
  const usage: unknown = isAIMessageChunk(message) ? message.usage_metadata : undefined;
  if (typeof cache_read !== "number" || typeof usage !== "object") return;
  Object.assign(message, { usage_metadata: { ...usage, input_token_details: { cache_read } } });
}
