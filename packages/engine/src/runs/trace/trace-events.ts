import type { AIMessage, AIMessageChunk, BaseMessage, UsageMetadata } from "@langchain/core/messages";
import { z } from "zod";
import { isAIMessage, isAIMessageChunk, isBaseMessage, isBaseMessageChunk, messageText } from "../../message-kinds.ts";
import { LlmMetadata } from "../../sessions/messages/message-fields.ts";
import type { SpanRecord, SpanUsage } from "./span.ts";

const Failure = z.union([
  z.string().transform((message) => ({ error: "Error", message })),
  z.object({ error: z.string(), message: z.string() }),
  z
    .object({ name: z.string().default("Error"), message: z.string() })
    .transform(({ name, message }) => ({ error: name, message })),
]);
/** A node begins, as the mode `tasks` says it. */
export const StartedTask = z.object({ id: z.string(), name: z.string(), input: z.unknown() });
/** A node has ended. */
export const EndedTask = z.object({
  id: z.string(),
  result: z.unknown(),
  error: Failure.nullish(),
  interrupts: z.array(z.unknown()).default([]),
});
/** What the mode `tools` says of a call. */
export const ToolEvent = z.object({
  event: z.string(),
  toolCallId: z.string(),
  name: z.string().default("tool"),
  error: Failure.optional(),
});
/** The state that a step has left. */
export const CheckpointEnvelope = z.object({ id: z.string(), source: z.string().optional() });
/** A tool call that a node was sent, in the spelling of our own loop or of LangGraph's `ToolNode`. */
export const CallInput = z.union([
  z.object({ call: z.object({ id: z.string() }) }).transform(({ call }) => call.id),
  z.object({ lg_tool_call: z.object({ id: z.string() }) }).transform(({ lg_tool_call: call }) => call.id),
]);
const Retried = z.object({ type: z.literal("retry"), what: z.string(), reason: z.string() });
const AgentBegun = z.object({ type: z.literal("subagent_started"), agent_id: z.string(), agent_name: z.string() });
const AgentDone = z.object({ type: z.literal("subagent_completed"), agent_id: z.string(), success: z.boolean() });
/** What our own loop tells beside: something is tried again, an agent begins and is through. */
export const TraceEvent = z.discriminatedUnion("type", [Retried, AgentBegun, AgentDone]);

/** Whether a model has said this; a node may also return a message that it has made itself. */
export function isModelOutput(
  message: BaseMessage,
  { ls_model_type: type, ls_integration: by }: Record<string, unknown>,
): boolean {
  return isBaseMessageChunk(message) || type === "chat" || by === "langchain_chat_model";
}

/** Whether words, thoughts or calls have come. */
export function hasOutput(message: AIMessage | AIMessageChunk): boolean {
  if (messageText(message) !== "" || message.additional_kwargs["reasoning_content"]) return true;
  return isAIMessageChunk(message)
    ? (message.tool_call_chunks ?? []).length > 0
    : (message.tool_calls ?? []).length > 0;
}

/** The tokens of a call with those that a piece of its reply tells. */
export function addUsage(
  known: SpanUsage | null,
  { input_tokens, output_tokens, input_token_details }: UsageMetadata,
): SpanUsage {
  return {
    input_tokens: (known?.input_tokens ?? 0) + input_tokens,
    output_tokens: (known?.output_tokens ?? 0) + output_tokens,
    cached_tokens: (known?.cached_tokens ?? 0) + (input_token_details?.cache_read ?? 0),
  };
}

/** The messages in what a node has returned, or in a state. */
export function messagesOf(result: unknown): BaseMessage[] {
  if (typeof result !== "object" || result === null || !("messages" in result)) return [];
  const { messages } = result;
  const list: unknown[] = Array.isArray(messages) ? messages : [messages];
  return list.filter((message) => isBaseMessage(message));
}

/** The replies among them. */
export function repliesIn(result: unknown): AIMessage[] {
  return messagesOf(result).filter((message) => isAIMessage(message));
}

/** What a reply says beside its words about its call. */
export function addCost(span: SpanRecord, message: AIMessage): void {
  if (span.usage === null && message.usage_metadata !== undefined) span.usage = addUsage(null, message.usage_metadata);
  const metadata = LlmMetadata.safeParse(message.additional_kwargs["llm_metadata"]).data;
  if (metadata === undefined) return;
  span.model_call_id = metadata.model_call_id ?? span.model_call_id;
  if (metadata.model_name !== undefined) Object.assign(span, { model: metadata.model_name, name: metadata.model_name });
  if (metadata.input_cost === undefined && metadata.output_cost === undefined) return;
  span.cost = (metadata.input_cost ?? 0) + (metadata.output_cost ?? 0);
}
