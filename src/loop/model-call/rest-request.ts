import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { answerBeginning } from "@millrace/models/messages/answer-beginning";
import { toModelError } from "@millrace/models/model-error";
import { noteMessage } from "@millrace/models/messages/note-message";
import { brokeMidStream } from "@millrace/models/resilience/watch-stream";
import { continueReply } from "../../prompts/templates/continue-reply.ts";
import type { Prompts } from "../../prompts/prompts.ts";
import { instructedSeam, beginningSeam, type Seam } from "../reply/seam.ts";

/** The text and reasoning of an answer so far. */
export interface PartialReply {
  text: string;
  reasoning: string;
}

/** A request for the rest of an answer, and how to join it. */
export interface RestRequest {
  messages: BaseMessage[];
  seam: Seam;
}

/** Models that refused a request ending with the beginning of an answer. */
const refusing = new WeakSet<BaseChatModel>();

/**
 * Requests for the rest of an answer, the better one first: ending with the answer so far, if the model continues from
 * that; else followed by an instruction.
 */
export function* restRequests(
  model: BaseChatModel,
  messages: readonly BaseMessage[],
  partial: PartialReply,
  { takesBeginning = false, prompts }: { takesBeginning?: boolean; prompts?: Prompts | undefined },
): Generator<RestRequest> {
  if (takesBeginning && !refusing.has(model)) {
    yield { messages: [...messages, answerBeginning(partial.text, partial.reasoning)], seam: beginningSeam };
  }
  // A cut may split a character, and strict providers refuse half of one.
  const instructed = [new AIMessage(partial.text.toWellFormed()), noteMessage(continueReply(prompts))];
  yield { messages: [...messages, ...instructed], seam: instructedSeam };
}

/**
 * Whether the server refused a request ending with the beginning of an answer; later requests then use the instruction
 * at once.
 */
export function isBeginningRefused(model: BaseChatModel, { seam }: RestRequest, error: unknown): boolean {
  const isRefused = ["api_error", "not_found", "unavailable_tool_mode"].includes(toModelError(error).code);
  if (seam !== beginningSeam || !isRefused || brokeMidStream(error)) return false;
  refusing.add(model);
  return true;
}
