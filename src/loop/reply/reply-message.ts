import { randomUUID } from "node:crypto";
import { AIMessage, type AIMessageChunk, type UsageMetadata } from "@langchain/core/messages";
import { z } from "zod";
import { isCut } from "@millrace/models/messages/end-reason";
import type { ModelPrice } from "@millrace/models/registry/model-profile";
import { costOf } from "../limits/limits.ts";
import { callsOf, hasWholeArguments } from "./reply-calls.ts";
import type { LoopRequest } from "../request.ts";
import type { EndReason, ForcedRound } from "../state.ts";

type WebSources = Pick<LoopRequest, "found" | "silent">;

/** Whether a message, or a call, of the conversation has an id. */
export interface TakenIds {
  message: (id: string) => boolean;
  call: (id: string) => boolean;
}

/** What a message says of itself beside its words; see `toMessage`. */
export interface ReplyNotes {
  /** The model, and what it costs where that is known. */
  model: string;
  price: ModelPrice | undefined;
  runId: string;
  /** The place of this reply in the conversation that the model saw. */
  conversationRound: number;
  forcedBy: ForcedRound["kind"] | undefined;
}

/**
 * The answer as a whole message with ids that are its own: some servers repeat message ids or call ids, and two messages
 * with one id would replace each other. `taken` says which ids the conversation has already. Arguments that are not whole
 * JSON stand as text, and a call that the length limit may have cut in half is listed under `cut_calls`: it is never run. Pieces that were streamed before bear the ids that the server gave.
 */
export function toMessage(answer: AIMessageChunk, taken: TakenIds, notes: ReplyNotes): AIMessage {
  const { id } = answer;
  const usage = usageOf(answer);
  const calls = callsOf(answer, taken.call);
  const last = calls.at(-1);
  const cut = last !== undefined && isCut(answer.response_metadata) && !hasWholeArguments(last.args) ? [last.id] : [];
  const additional_kwargs: AIMessage["additional_kwargs"] = {
    ...withoutRawCalls(answer.additional_kwargs),
    timestamp: new Date().toISOString(),
    ...(cut.length === 0 ? {} : { cut_calls: cut }),
    ...(notes.forcedBy === undefined ? {} : { forced_by: notes.forcedBy }),
    ...(usage === undefined ? {} : { llm_metadata: llmMetadata(usage, notes) }),
  };
  const fields = {
    id: id === undefined || taken.message(id) ? randomUUID() : id,
    content: wholeCharacters(answer.content),
    tool_calls: calls,
    additional_kwargs,
    response_metadata: withoutUsage(answer.response_metadata),
    ...(usage === undefined ? {} : { usage_metadata: usage }),
  };
  return new AIMessage(fields);
}

/** Why the turn ended with this message, said on the message itself. */
export function withEnd(message: AIMessage, reason: EndReason): AIMessage {
  message.additional_kwargs["end_reason"] = reason;
  return message;
}

/** The pages that the reply may speak of, kept on the reply that a reader sees: of several steps, the last. */
export function withSources(message: AIMessage, { found = [], silent }: WebSources): AIMessage {
  if (found.length > 0 && !silent) message.additional_kwargs["web_search_results"] = [...found];
  return message;
}

/** Half a character, as a cut leaves it, is no Unicode: strict providers refuse a history that holds one. */
function wholeCharacters(content: AIMessage["content"]): AIMessage["content"] {
  if (typeof content === "string") return content.toWellFormed();
  return content.map((part) => {
    const text: unknown = part["text"];
    return typeof text === "string" ? Object.assign({}, part, { text: text.toWellFormed() }) : part;
  });
}

/** The calls that the length limit has cut in half. */
export function cutCalls(message: AIMessage): ReadonlySet<unknown> {
  const listed = message.additional_kwargs["cut_calls"];
  return new Set(Array.isArray(listed) ? listed : []);
}

/** Clients leave out a count that is 0, and a sum with nothing would be no number. */
const Count = z.number().nonnegative().catch(0);
const Usage = z.looseObject({ input_tokens: Count, output_tokens: Count, total_tokens: Count }).optional();

/** The tokens of an answer, where the provider counts them. */
export function usageOf(answer: { usage_metadata?: unknown }): UsageMetadata | undefined {
  return Usage.parse(answer.usage_metadata);
}

function llmMetadata(
  usage: UsageMetadata,
  { model, price, conversationRound, runId }: ReplyNotes,
): Record<string, unknown> {
  return {
    model_name: model,
    input_tokens: usage.input_tokens,
    output_tokens: usage.output_tokens,
    ...(price === undefined
      ? {}
      : {
          input_cost: costOf({ input: usage.input_tokens, output: 0 }, price),
          output_cost: costOf({ input: 0, output: usage.output_tokens }, price),
        }),
    conversation_round: conversationRound,
    ...(runId === "" ? {} : { run_id: runId }),
  };
}

/** Usage is said once, as `usage_metadata`; providers repeat it here up to three times. */
function withoutUsage(metadata: AIMessageChunk["response_metadata"]): Record<string, unknown> {
  const { usage: _usage, tokenUsage: _tokens, estimatedTokenUsage: _estimate, ...rest } = metadata;
  return rest;
}

function withoutRawCalls(kwargs: AIMessageChunk["additional_kwargs"]): AIMessage["additional_kwargs"] {
  const { tool_calls: _, ...rest } = kwargs;
  return rest;
}
