import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { BaseMessage } from "@langchain/core/messages";
import type { ChatGenerationChunk, ChatResult } from "@langchain/core/outputs";
import type { ModelServices, ServiceCall, ServiceSettings } from "./model-services.ts";
import { withTotalTimeout } from "./whole-in-time.ts";
import { hasContent } from "./watch-stream.ts";
import { WrappedModel } from "../wrapped-model.ts";

/** Guards around every model request. */
export interface ModelCallPolicy extends ServiceSettings {
  services: ModelServices;
  /** Milliseconds until the end of an answer that is not streamed. */
  totalMs: number;
}

/**
 * A model whose requests go through its service: refused while the breaker is open, limited per provider, counted, and
 * timed out. Failures become AppErrors.
 */
export class GuardedModel extends WrappedModel {
  readonly #guard: ModelCallPolicy;

  constructor(model: BaseChatModel, guard: ModelCallPolicy) {
    super(model);
    this.#guard = guard;
  }

  override async _generate(messages: BaseMessage[], options: this["ParsedCallOptions"]): Promise<ChatResult> {
    const { services, totalMs } = this.#guard;
    const call = await services.begin(this.#guard, options.signal);
    try {
      const result = await withTotalTimeout(totalMs, options.signal, (signal) =>
        this.wrapped._generate(messages, { ...options, signal }),
      );
      call.finished();
      return result;
    } catch (error) {
      throw call.failed(error, options.signal);
    } finally {
      call.left();
    }
  }

  override _streamResponseChunks(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    return new GuardedChunks(
      () => this.#guard.services.begin(this.#guard, options.signal),
      () => this.wrapped._streamResponseChunks(messages, options, runManager),
      options.signal,
    );
  }
}

interface GuardedRequest {
  call: ServiceCall;
  chunks: AsyncGenerator<ChatGenerationChunk>;
}

/** The chunks of a guarded request. Not a generator, which would cost each chunk three more turns of the queue. */
class GuardedChunks implements AsyncGenerator<ChatGenerationChunk> {
  readonly #begin: () => Promise<ServiceCall>;
  readonly #open: () => AsyncGenerator<ChatGenerationChunk>;
  readonly #signal: AbortSignal | undefined;
  #running: GuardedRequest | undefined;
  #isOver = false;
  #hasAnswered = false;

  constructor(
    begin: () => Promise<ServiceCall>,
    open: () => AsyncGenerator<ChatGenerationChunk>,
    signal: AbortSignal | undefined,
  ) {
    this.#begin = begin;
    this.#open = open;
    this.#signal = signal;
  }

  async next(): Promise<IteratorResult<ChatGenerationChunk, undefined>> {
    const running = this.#isOver ? undefined : (this.#running ?? (await this.#start()));
    if (running === undefined) return { done: true, value: undefined };
    const { call, chunks } = running;
    try {
      const next = await chunks.next();
      if (next.done === true) {
        call.finished();
        this.#end(call);
      } else if (!this.#hasAnswered && hasContent(next.value)) {
        this.#hasAnswered = true;
        call.answered();
      }
      return next;
    } catch (error) {
      const failure = call.failed(error, this.#signal);
      this.#end(call);
      throw failure;
    }
  }

  /** Starts the request; `undefined` if the reader has left meanwhile. */
  async #start(): Promise<GuardedRequest | undefined> {
    let call: ServiceCall;
    try {
      call = await this.#begin();
    } catch (error) {
      this.#isOver = true;
      throw error;
    }
    if (!this.#isOver) return (this.#running = { call, chunks: this.#open() });
    call.left();
    return undefined;
  }

  async return(): Promise<IteratorResult<ChatGenerationChunk, undefined>> {
    const running = this.#isOver ? undefined : this.#running;
    this.#isOver = true;
    try {
      await running?.chunks.return(undefined);
    } finally {
      running?.call.left();
    }
    return { done: true, value: undefined };
  }

  async throw(error: unknown): Promise<never> {
    await this.return();
    throw error;
  }

  #end(call: ServiceCall): void {
    this.#isOver = true;
    call.left();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }
}
