import type { BaseMessage } from "@langchain/core/messages";
import { z } from "zod";
import { isAIMessage, textOf } from "@millrace/engine/message-kinds";
import { importanceLevels, importanceOf, levelOf } from "../../context/compression/importance.ts";
import { JsonObject } from "@millrace/engine/storage/records";
import {
  Attachment,
  LlmMetadata,
  MessageRole,
  ModelView,
  modelViewOf,
  readExtras,
  roleOf,
  TokenUsage,
  wordsOf,
} from "@millrace/engine/sessions/messages/message-fields";
import { Suggestions, readSuggestions } from "@millrace/engine/sessions/overview/suggestions";

/** The whole of a result that is cut: its id for `/threads/:id/results/:result_id`, and its length. */
const CutResult = z.object({ id: z.string(), characters: z.number().int() });

/** A message as a client shows it (`DisplayMessage`): words and reasoning apart, both as plain text. */
export const DisplayMessage = z.object({
  id: z.string().nullable(),
  role: z.enum([...MessageRole.options, "suggestion"]),
  content: z.string(),
  reasoning: z.string(),
  timestamp: z.string().nullable(),
  is_partial: z.boolean(),
  stop_reason: z.string(),
  operations: z.array(z.string()),
  attachments: z.array(Attachment),
  usage: TokenUsage.nullable(),
  llm_metadata: LlmMetadata.nullable(),
  metadata: JsonObject,
  web_search_results: z.array(JsonObject),
  tool_calls: z.array(z.object({ id: z.string().nullable(), name: z.string(), args: JsonObject })),
  tool_call_id: z.string().nullable(),
  name: z.string().nullable(),
  whole_result: CutResult.nullable().describe("Where `content` is only a part of a tool's result: all of it"),
  call_started_at: z
    .string()
    .nullable()
    .describe("Of a tool's result: when its call began; null where that is not known"),
  suggestions: Suggestions.nullable(),
  model_view: ModelView.nullable().describe(
    "Whether it stays in the model's view, or is hidden from it; null: neither",
  ),
  importance: z.enum(importanceLevels).describe("What it is worth when the conversation has to become shorter"),
});
export type DisplayMessage = z.infer<typeof DisplayMessage>;

/**
 * A conversation's messages in the form for clients; `all` determines the state of their proposals, and their
 * importance. A message with proposals has the role `suggestion`. `begun`: when calls began, by the ids of their results.
 */
export function toDisplay(
  messages: readonly BaseMessage[],
  all: readonly BaseMessage[],
  begun: ReadonlyMap<string, string> = new Map(),
): DisplayMessage[] {
  const proposals = new Map(readSuggestions(all).map((one) => [one.message_id, one]));
  const places = new Map(all.map(({ id }, place) => [id, place]));
  return messages.map((message) => ({
    ...displayOf(message, proposals.get(message.id ?? "") ?? null),
    call_started_at: begun.get(message.id ?? "") ?? null,
    importance: levelOf(importanceOf(all, places.get(message.id) ?? -1)),
  }));
}

function displayOf(
  message: BaseMessage,
  suggestions: Suggestions | null,
): Omit<DisplayMessage, "importance" | "call_started_at"> {
  const { reasoning_content, hidden: _hidden, ...extras } = readExtras(message);
  const calls = isAIMessage(message) ? (message.tool_calls ?? []) : [];
  const answers = "tool_call_id" in message && typeof message.tool_call_id === "string" ? message.tool_call_id : null;
  return {
    ...extras,
    id: message.id ?? null,
    role: suggestions === null ? roleOf(message) : "suggestion",
    content: wordsOf(message),
    reasoning: reasoning_content,
    tool_calls: calls.map(({ id, name, args }) => ({ id: id ?? null, name, args })),
    tool_call_id: answers,
    name: message.name ?? null,
    model_view: modelViewOf(message),
    whole_result: CutResult.safeParse(message.additional_kwargs["whole_result"]).data ?? null,
    suggestions,
  };
}

/** The start of the user's first message, for a list of sessions; empty before it. */
export function previewOf(messages: readonly BaseMessage[]): string {
  const first = messages.find((message) => roleOf(message) === "user");
  return first === undefined ? "" : lineOf(textOf(first.content), 50);
}

/** The start of the last of these messages that has words, in one line. */
export function lastWordsOf(messages: readonly BaseMessage[]): string {
  const last = messages.findLast((message) => wordsOf(message).trim() !== "");
  // Only the beginning of a long text matters.
  return last === undefined ? "" : lineOf(wordsOf(last).slice(0, 2000), 100);
}

function lineOf(text: string, length: number): string {
  return Array.from(text.replaceAll(/\s+/gu, " ").trim()).slice(0, length).join("").toWellFormed();
}
