import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { BaseMessage } from "@langchain/core/messages";
import type { ChatGenerationChunk, ChatResult } from "@langchain/core/outputs";
import type { ModelServices, ServiceSettings } from "./model-services.ts";
import { wholeInTime } from "./whole-in-time.ts";
import { hasContent } from "./watch-stream.ts";
import { WrappedModel } from "../wrapped-model.ts";

/** Guards around every model request. */
export interface Guard extends ServiceSettings {
  services: ModelServices;
  /** Milliseconds until the end of an answer that is not streamed. */
  totalMs: number;
}

/**
 * A model whose requests go through its service: refused while the breaker is open, limited per provider, counted, and
 * timed out. Failures become AppErrors.
 */
export class GuardedModel extends WrappedModel {
  readonly #guard: Guard;

  constructor(model: BaseChatModel, guard: Guard) {
    super(model);
    this.#guard = guard;
  }

  override async _generate(messages: BaseMessage[], options: this["ParsedCallOptions"]): Promise<ChatResult> {
    const { services, totalMs } = this.#guard;
    const call = await services.begin(this.#guard, options.signal);
    try {
      const result = await wholeInTime(totalMs, options.signal, (signal) =>
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

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const { services } = this.#guard;
    const call = await services.begin(this.#guard, options.signal);
    let hasAnswered = false;
    try {
      for await (const chunk of this.wrapped._streamResponseChunks(messages, options, runManager)) {
        if (!hasAnswered && hasContent(chunk)) {
          hasAnswered = true;
          call.answered();
        }
        yield chunk;
      }
      call.finished();
    } catch (error) {
      throw call.failed(error, options.signal);
    } finally {
      call.left();
    }
  }
}
