import {
  BaseChatModel,
  type BaseChatModelCallOptions,
  type BindToolsInput,
} from "@langchain/core/language_models/chat_models";

/**
 * A model that wraps another and looks like it, in traces too. Differences are in `_generate` and
 * `_streamResponseChunks`, which delegate to `wrapped`.
 */
export abstract class WrappedModel<
  Options extends BaseChatModelCallOptions = BaseChatModelCallOptions,
> extends BaseChatModel<Options> {
  protected readonly wrapped: BaseChatModel;

  constructor(model: BaseChatModel) {
    super({
      ...(model.callbacks === undefined ? {} : { callbacks: model.callbacks }),
      ...(model.tags === undefined ? {} : { tags: model.tags }),
      ...(model.metadata === undefined ? {} : { metadata: model.metadata }),
    });
    this.wrapped = model;
    // If the wrapped model does not stream, the answer is requested whole.
    this.disableStreaming =
      model.disableStreaming || model._streamResponseChunks === BaseChatModel.prototype._streamResponseChunks;
  }

  override _llmType(): string {
    // The base class calls this before `wrapped` is set.
    return "wrapped" in this ? this.wrapped._llmType() : "wrapped";
  }

  override invocationParams(options?: this["ParsedCallOptions"]): unknown {
    return this.wrapped.invocationParams(options);
  }

  override getLsParams(options: this["ParsedCallOptions"]): ReturnType<BaseChatModel["getLsParams"]> {
    return this.wrapped.getLsParams(options);
  }

  override toJSON(): ReturnType<BaseChatModel["toJSON"]> {
    return this.wrapped.toJSON();
  }

  override bindTools(tools: BindToolsInput[], more: Partial<Options> = {}): ReturnType<typeof this.withConfig> {
    // Tools are call options in OpenAI's format, which the wrapped model reads.
    return this.withConfig({ ...more, tools });
  }
}
