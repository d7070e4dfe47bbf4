import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { answerBeginning } from "@millrace/models/messages/answer-beginning";
import { toModelError } from "@millrace/models/model-error";
import { noteMessage } from "@millrace/models/messages/note-message";
import { brokeMidStream } from "@millrace/models/resilience/watch-stream";
import { continueReply } from "../../prompts/templates/continue-reply.ts";
import type { Prompts } from "../../prompts/prompts.ts";
import { askedSeam, begunSeam, type Seam } from "../reply/seam.ts";

/** What a model has said of an answer, and thought. */
export interface Said {
  text: string;
  reasoning: string;
}

/** A request for the rest of an answer, and how what comes is put behind what is there. */
export interface RestRequest {
  messages: BaseMessage[];
  seam: Seam;
}

/** Models that have refused the beginning of an answer, so that they are not given one again and again. */
const refusing = new WeakSet<BaseChatModel>();

/**
 * The ways to ask a model for the rest of its answer, the better one first: what it has said stands last, as the
 * beginning of the answer where the model takes that, else with a request in words behind it.
 */
export function* restRequests(
  model: BaseChatModel,
  messages: readonly BaseMessage[],
  said: Said,
  { takesBeginning = false, prompts }: { takesBeginning?: boolean; prompts?: Prompts | undefined },
): Generator<RestRequest> {
  if (takesBeginning && !refusing.has(model)) {
    yield { messages: [...messages, answerBeginning(said.text, said.reasoning)], seam: begunSeam };
  }
  // A cut may fall into a character; strict providers refuse half of one.
  const asked = [new AIMessage(said.text.toWellFormed()), noteMessage(continueReply(prompts))];
  yield { messages: [...messages, ...asked], seam: askedSeam };
}

/** Whether a server has refused to be given the beginning of an answer: it is asked in words, from then on at once. */
export function isBeginningRefused(model: BaseChatModel, { seam }: RestRequest, error: unknown): boolean {
  const isRefused = ["api_error", "not_found", "unavailable_tool_mode"].includes(toModelError(error).code);
  if (seam !== begunSeam || !isRefused || brokeMidStream(error)) return false;
  refusing.add(model);
  return true;
}
