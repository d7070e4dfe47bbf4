import { isAIMessage, type BaseMessage } from "@langchain/core/messages";
import { z } from "zod";
import { textOf } from "../context/tokens.ts";
import { JsonObject } from "../storage/records.ts";
import { Attachment } from "./attachments.ts";
import { LlmMetadata, MessageRole, readExtras, roleOf, TokenUsage, wordsOf } from "./message-fields.ts";
import { Suggestions, readSuggestions } from "./suggestions.ts";

/** A message as a client shows it (MSG-11, DisplayMessage of table 18.9): words and reasoning apart, both as plain text. */
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
  suggestions: Suggestions.nullable(),
});
export type DisplayMessage = z.infer<typeof DisplayMessage>;

/** Every message as a client shows it. A message that proposes something has the role `suggestion` (MSG-16). */
export function toDisplay(messages: readonly BaseMessage[]): DisplayMessage[] {
  const proposals = new Map(readSuggestions(messages).map((one) => [one.message_id, one]));
  return messages.map((message) => displayOf(message, proposals.get(message.id ?? "") ?? null));
}

function displayOf(message: BaseMessage, suggestions: Suggestions | null): DisplayMessage {
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
    suggestions,
  };
}

/** The first words of the first thing the user said, for a list of sessions (SESS-05); empty before it. */
export function previewOf(messages: readonly BaseMessage[]): string {
  const first = messages.find((message) => roleOf(message) === "user");
  if (first === undefined) return "";
  return Array.from(textOf(first.content).replaceAll(/\s+/gu, " ").trim()).slice(0, 50).join("");
}
