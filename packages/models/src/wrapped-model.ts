import {
  BaseChatModel,
  type BaseChatModelCallOptions,
  type BindToolsInput,
} from "@langchain/core/language_models/chat_models";

/**
 * A model around another one. To whoever looks at it, in traces too, it is the other one; what it does differently
 * stands in its `_generate` and `_streamResponseChunks`, which pass on to `wrapped`.
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
    // A model of one's own may not stream; then its whole answer is asked for.
    this.disableStreaming =
      model.disableStreaming || model._streamResponseChunks === BaseChatModel.prototype._streamResponseChunks;
  }

  override _llmType(): string {
    // The base class asks before it has been told which model this is.
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
    // Tools are call options; the model they reach reads them in OpenAI's format, in which they are given.
    return this.withConfig({ ...more, tools });
  }
}
