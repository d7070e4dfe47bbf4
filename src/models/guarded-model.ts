import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import {
  BaseChatModel,
  type BaseChatModelCallOptions,
  type BindToolsInput,
} from "@langchain/core/language_models/chat_models";
import type { BaseMessage } from "@langchain/core/messages";
import type { ChatGenerationChunk, ChatResult } from "@langchain/core/outputs";
import type { ModelServices, ServiceSettings } from "./model-services.ts";
import { wholeInTime } from "./whole-in-time.ts";
import { hasContent } from "./watch-stream.ts";

/** What stands around every request to a model. */
export interface Guard extends ServiceSettings {
  services: ModelServices;
  /** Milliseconds until the end of an answer that is not streamed. */
  totalMs: number;
}

/**
 * A model each of whose requests goes through its service (SVC-01): refused while the service is left alone, bounded with
 * the others of its provider, counted, and ended in time. What fails comes out as one of our errors.
 */
export class GuardedModel extends BaseChatModel {
  readonly #model: BaseChatModel;
  readonly #guard: Guard;

  constructor(model: BaseChatModel, guard: Guard) {
    super({});
    this.#model = model;
    this.#guard = guard;
  }

  override _llmType(): string {
    // The base class asks before it has been told which model this is.
    return #model in this ? this.#model._llmType() : "guarded";
  }

  override invocationParams(options?: this["ParsedCallOptions"]): unknown {
    return this.#model.invocationParams(options);
  }

  override getLsParams(options: this["ParsedCallOptions"]): ReturnType<BaseChatModel["getLsParams"]> {
    return this.#model.getLsParams(options);
  }

  /** In traces the model is itself. */
  override toJSON(): ReturnType<BaseChatModel["toJSON"]> {
    return this.#model.toJSON();
  }

  override bindTools(
    tools: BindToolsInput[],
    more: Partial<BaseChatModelCallOptions> = {},
  ): ReturnType<typeof this.withConfig> {
    // Tools are call options; the model they reach reads them in OpenAI's format, in which they are given.
    return this.withConfig({ ...more, tools } as Partial<BaseChatModelCallOptions>);
  }

  override async _generate(messages: BaseMessage[], options: this["ParsedCallOptions"]): Promise<ChatResult> {
    const { services, totalMs } = this.#guard;
    const call = await services.begin(this.#guard, options.signal);
    try {
      const result = await wholeInTime(totalMs, options.signal, (signal) =>
        this.#model._generate(messages, { ...options, signal }),
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
    try {
      for await (const chunk of this.#model._streamResponseChunks(messages, options, runManager)) {
        if (hasContent(chunk)) call.answered();
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
