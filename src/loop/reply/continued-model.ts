import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { isAIMessage, isAIMessageChunk, type AIMessage, type BaseMessage } from "@langchain/core/messages";
import type { ChatGeneration, ChatGenerationChunk, ChatResult } from "@langchain/core/outputs";
import { WrappedModel } from "@millrace/models/wrapped-model";
import type { Prompts } from "../../prompts/prompts.ts";
import { asPart, cutEnd, isCutMark } from "./cut-output.ts";
import { hintlessPieces, hintlessResult } from "./hintless.ts";
import { goesOn, join, saidIn } from "./join-pieces.ts";
import { isBeginningRefused, restRequests, type Said } from "../model-call/rest-request.ts";
import { readBehind, type Seam } from "./seam.ts";

/** How an output that was cut at the length limit is continued. */
export interface Continuation {
  /** Further pieces at most. */
  rounds: number;
  /** Where the words come from that ask for the next piece; absent: the built-in ones. */
  prompts?: Prompts | undefined;
  /** Told of what the model is sent, before each piece. */
  onRequest?: (messages: BaseMessage[]) => void;
  /** A request may end with the beginning of the answer; else the model is asked in words for the rest. */
  takesBeginning?: boolean;
  /** The messages that the model is shown bear hints, which are not to be repeated. */
  hasHints?: boolean;
  /** Told before each further piece, counted from 1. */
  onPiece: (round: number) => void;
  /** A further piece could not be had; what is there stands. */
  onFailure: (error: unknown) => void;
}

/** What is known of an answer that comes in pieces. */
interface Answer extends Said {
  id: string | undefined;
  /** It asks for tools: half a call cannot be continued. */
  hasCalls: boolean;
}

/**
 * A model whose answers do not end at the length limit: the model is asked for the rest, and the pieces are one message
 * for whoever reads, streamed or not, with nothing said twice at the seams.
 */
export class ContinuedModel extends WrappedModel {
  readonly #continuation: Continuation;

  constructor(model: BaseChatModel, continuation: Continuation) {
    super(model);
    this.#continuation = continuation;
  }

  override async _generate(messages: BaseMessage[], options: this["ParsedCallOptions"]): Promise<ChatResult> {
    this.#continuation.onRequest?.(messages);
    const first = await this.wrapped._generate(messages, options);
    let whole = first;
    for (let round = 1; round <= this.#continuation.rounds; round += 1) {
      const [generation] = whole.generations;
      const message = generation?.message;
      if (message === undefined || !isAIMessage(message) || !goesOn(message, generation?.generationInfo)) break;
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
    return this.#continuation.hasHints === true ? hintlessResult(whole) : whole;
  }

  /** An answer that was not streamed, with its next piece. */
  async #joined(
    messages: BaseMessage[],
    before: AIMessage,
    options: this["ParsedCallOptions"],
  ): Promise<ChatGeneration | undefined> {
    for (const request of restRequests(this.wrapped, messages, saidIn(before), this.#continuation)) {
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
    for await (const chunk of this.#continuation.hasHints === true ? hintlessPieces(pieces) : pieces) {
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
        // A piece that only repeats would be followed by another such.
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

  /** One piece of the answer; says whether another has to follow. `mayContinue`: there may be one. */
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
