import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { isAIMessage, isAIMessageChunk, type AIMessage, type BaseMessage } from "@langchain/core/messages";
import type { ChatGeneration, ChatGenerationChunk, ChatResult } from "@langchain/core/outputs";
import { WrappedModel } from "@millrace/models/wrapped-model";
import type { Prompts } from "../../prompts/prompts.ts";
import { asPart, cutEnd, isCutMark } from "./cut-output.ts";
import { stripHintsFromStream, stripHintsFromResult } from "./strip-hints.ts";
import { isCutInText, join, partialReplyOf } from "./join-pieces.ts";
import { isBeginningRefused, restRequests, type PartialReply } from "../model-call/rest-request.ts";
import { readBehind, type Seam } from "./seam.ts";

/** How to continue an output that the length limit cut off. */
export interface Continuation {
  /** Maximum number of continuations. */
  rounds: number;
  /** Prompts for the continuation; default the built-in ones. */
  prompts?: Prompts | undefined;
  /** Called before each request with its messages. */
  onRequest?: (messages: BaseMessage[]) => void;
  /** Called with each streamed chunk as the model sent it. */
  onChunk?: (chunk: ChatGenerationChunk) => void;
  /** Whether a request may end with the beginning of the answer; else an instruction asks for the rest. */
  takesBeginning?: boolean;
  /** Messages sent to the model carry hints, which are removed from its answer. */
  hasHints?: boolean;
  /** Called before each continuation, counted from 1. */
  onPiece: (round: number) => void;
  /** Called when a continuation failed; the answer so far stays. */
  onFailure: (error: unknown) => void;
}

/** An answer received in pieces. */
interface Answer extends PartialReply {
  id: string | undefined;
  /** It has tool calls; half a call cannot be continued. */
  hasCalls: boolean;
}

/**
 * A model that continues answers cut off at the length limit. Readers get the pieces as one message, streamed or not,
 * without repetition at the seams.
 */
export class ContinuedModel extends WrappedModel {
  /** Whether the model itself can stream. */
  readonly streams: boolean;
  #continuation: Continuation;

  constructor(model: BaseChatModel, continuation: Continuation) {
    super(model);
    this.streams = !this.disableStreaming;
    this.#continuation = continuation;
  }

  /** The model with another continuation; may be used again, for one answer at a time, since it is slow to make. */
  static reused(known: ContinuedModel | undefined, model: BaseChatModel, continuation: Continuation): ContinuedModel {
    if (known?.wrapped !== model) return new ContinuedModel(model, continuation);
    known.#continuation = continuation;
    return known;
  }

  override async _generate(messages: BaseMessage[], options: this["ParsedCallOptions"]): Promise<ChatResult> {
    this.#continuation.onRequest?.(messages);
    const first = await this.wrapped._generate(messages, options);
    let whole = first;
    for (let round = 1; round <= this.#continuation.rounds; round += 1) {
      const [generation] = whole.generations;
      const message = generation?.message;
      if (message === undefined || !isAIMessage(message) || !isCutInText(message, generation?.generationInfo)) break;
      this.#continuation.onPiece(round);
      try {
        const joined = await this.#joined(messages, message, options);
        if (joined === undefined) break;
        whole = { ...first, generations: [joined] };
      } catch (error) {
        options.signal?.throwIfAborted();
        this.#continuation.onFailure(error);
        break;
      }
    }
    return this.#continuation.hasHints === true ? stripHintsFromResult(whole) : whole;
  }

  /** Joins a complete answer with its next piece. */
  async #joined(
    messages: BaseMessage[],
    before: AIMessage,
    options: this["ParsedCallOptions"],
  ): Promise<ChatGeneration | undefined> {
    for (const request of restRequests(this.wrapped, messages, partialReplyOf(before), this.#continuation)) {
      this.#continuation.onRequest?.(request.messages);
      try {
        const next = await this.wrapped._generate(request.messages, options);
        return join(before, next.generations[0], request.seam);
      } catch (error) {
        if (!isBeginningRefused(this.wrapped, request, error)) throw error;
      }
    }
    return undefined;
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const pieces = this.#pieces(messages, options);
    for await (const chunk of this.#continuation.hasHints === true ? stripHintsFromStream(pieces) : pieces) {
      yield chunk;
      await runManager?.handleLLMNewToken(chunk.text, undefined, undefined, undefined, undefined, { chunk });
    }
  }

  async *#pieces(messages: BaseMessage[], options: this["ParsedCallOptions"]): AsyncGenerator<ChatGenerationChunk> {
    const { rounds, onPiece, onFailure } = this.#continuation;
    const answer: Answer = { id: undefined, text: "", reasoning: "", hasCalls: false };
    let isOpen = yield* this.#piece({ messages }, answer, rounds > 0, options);
    for (let round = 1; isOpen; round += 1) {
      onPiece(round);
      const known = answer.text.length;
      try {
        isOpen = yield* this.#rest(messages, answer, round < rounds, options);
        // A piece that only repeats would be followed by another.
        if (isOpen && answer.text.length === known) {
          yield cutEnd(answer.id);
          return;
        }
      } catch (error) {
        options.signal?.throwIfAborted();
        onFailure(error);
        yield cutEnd(answer.id);
        return;
      }
    }
  }

  async *#rest(
    messages: BaseMessage[],
    answer: Answer,
    mayContinue: boolean,
    options: this["ParsedCallOptions"],
  ): AsyncGenerator<ChatGenerationChunk, boolean> {
    for (const request of restRequests(this.wrapped, messages, answer, this.#continuation)) {
      try {
        return yield* this.#piece(request, answer, mayContinue, options);
      } catch (error) {
        if (!isBeginningRefused(this.wrapped, request, error)) throw error;
      }
    }
    return false;
  }

  /** Streams one piece; returns whether another must follow. `mayContinue`: another is allowed. */
  async *#piece(
    { messages, seam }: { messages: BaseMessage[]; seam?: Seam },
    answer: Answer,
    mayContinue: boolean,
    options: this["ParsedCallOptions"],
  ): AsyncGenerator<ChatGenerationChunk, boolean> {
    const before = answer.text;
    const piece = readBehind(before, seam);
    let isOpen = false;
    this.#continuation.onRequest?.(messages);
    for await (const chunk of this.wrapped._streamResponseChunks(messages, options)) {
      this.#continuation.onChunk?.(chunk);
      answer.id ??= chunk.message.id;
      answer.hasCalls ||= isAIMessageChunk(chunk.message) && (chunk.message.tool_call_chunks?.length ?? 0) > 0;
      const { reasoning_content } = chunk.message.additional_kwargs;
      if (typeof reasoning_content === "string") answer.reasoning += reasoning_content;
      const text = piece.push(chunk.text);
      answer.text += text;
      isOpen ||= mayContinue && isCutMark(chunk) && answer.text.trim() !== "" && !answer.hasCalls;
      if (before === "" && !isCutMark(chunk)) yield chunk;
      else yield asPart(chunk, { id: answer.id, text, unmarked: isOpen });
    }
    const rest = piece.end();
    if (rest !== "") {
      answer.text += rest;
      yield asPart(cutEnd(answer.id), { id: answer.id, text: rest, unmarked: true });
    }
    return isOpen;
  }
}
