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

/** Looks up message and call ids that the conversation already uses. */
export interface TakenIds {
  message: (id: string) => boolean;
  call: (id: string) => boolean;
}

/** Metadata of a reply; see `toMessage`. */
export interface ReplyNotes {
  /** The model, and its price if known. */
  model: string;
  price: ModelPrice | undefined;
  runId: string;
  /** The model call. */
  callId: string;
  /** Number of messages the model saw before this reply. */
  conversationRound: number;
  forcedBy: ForcedRound["kind"] | undefined;
}

/**
 * The complete message of an answer, with unique ids: some servers repeat ids, and two messages with one id would
 * replace each other. Incomplete JSON arguments stay as text; a call that the length limit may have cut is listed in
 * `cut_calls` and never runs. Streamed chunks keep the server's ids.
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

/** Sets the end reason on the turn's last message. */
export function withEnd(message: AIMessage, reason: EndReason): AIMessage {
  message.additional_kwargs["end_reason"] = reason;
  return message;
}

/** Adds the turn's web pages to its visible reply. */
export function withSources(message: AIMessage, { found = [], silent }: WebSources): AIMessage {
  if (found.length > 0 && !silent) message.additional_kwargs["web_search_results"] = [...found];
  return message;
}

/** A lone surrogate from a cut is invalid Unicode; strict providers refuse it. */
function wholeCharacters(content: AIMessage["content"]): AIMessage["content"] {
  if (typeof content === "string") return content.toWellFormed();
  return content.map((part) => {
    const text: unknown = part["text"];
    return typeof text === "string" ? Object.assign({}, part, { text: text.toWellFormed() }) : part;
  });
}

/** Ids of calls that the length limit cut. */
export function cutCalls(message: AIMessage): ReadonlySet<unknown> {
  const listed = message.additional_kwargs["cut_calls"];
  return new Set(Array.isArray(listed) ? listed : []);
}

/** Clients omit counts of 0; a sum with `undefined` would be NaN. */
const Count = z.number().nonnegative().catch(0);
const Usage = z.looseObject({ input_tokens: Count, output_tokens: Count, total_tokens: Count }).optional();

/** The usage the provider reports, if any. */
export function usageOf({ usage_metadata: given }: { usage_metadata?: unknown }): UsageMetadata | undefined {
  if (typeof given !== "object" || given === null) return Usage.parse(given);
  const usage = usages.get(given) ?? Usage.parse(given);
  if (usage !== undefined) usages.set(given, usage);
  return usage;
}

const usages = new WeakMap<object, UsageMetadata>();

function llmMetadata(
  usage: UsageMetadata,
  { model, price, conversationRound, runId, callId }: ReplyNotes,
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
    model_call_id: callId,
    ...(runId === "" ? {} : { run_id: runId }),
  };
}

/** Usage is kept once, as `usage_metadata`; providers repeat it here up to three times. */
function withoutUsage(metadata: AIMessageChunk["response_metadata"]): Record<string, unknown> {
  const { usage: _usage, tokenUsage: _tokens, estimatedTokenUsage: _estimate, ...rest } = metadata;
  return rest;
}

function withoutRawCalls(kwargs: AIMessageChunk["additional_kwargs"]): AIMessage["additional_kwargs"] {
  const { tool_calls: _, ...rest } = kwargs;
  return rest;
}
