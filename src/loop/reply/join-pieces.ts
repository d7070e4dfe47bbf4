import { AIMessage, isAIMessage, type UsageMetadata } from "@langchain/core/messages";
import type { ChatGeneration } from "@langchain/core/outputs";
import { textOf } from "@millrace/engine/message-kinds";
import { isCut } from "@millrace/models/messages/end-reason";
import type { PartialReply } from "../model-call/rest-request.ts";
import type { Seam } from "./seam.ts";

/** Whether the response was cut off within its text, so that it can be continued. */
export function isCutInText(message: AIMessage, info: ChatGeneration["generationInfo"]): boolean {
  const calls = (message.tool_calls?.length ?? 0) + (message.invalid_tool_calls?.length ?? 0);
  return isCut({ ...info, ...message.response_metadata }) && calls === 0 && textOf(message.content).trim() !== "";
}

/** Text and reasoning of a message. */
export function partialReplyOf({ content, additional_kwargs }: AIMessage): PartialReply {
  const { reasoning_content } = additional_kwargs;
  return { text: textOf(content), reasoning: typeof reasoning_content === "string" ? reasoning_content : "" };
}

/** Joins an answer with its next piece; `undefined` if that adds nothing. */
export function join(before: AIMessage, next: ChatGeneration | undefined, seam: Seam): ChatGeneration | undefined {
  if (next === undefined || !isAIMessage(next.message)) return undefined;
  const text = textOf(before.content);
  const piece = textOf(next.message.content);
  const added = piece.slice(seam.overlap(text, piece));
  if (added === "" && (next.message.tool_calls?.length ?? 0) === 0) return undefined;
  const message = new AIMessage({
    ...(before.id === undefined ? {} : { id: before.id }),
    content: text + added,
    additional_kwargs: { ...next.message.additional_kwargs, ...before.additional_kwargs },
    response_metadata: next.message.response_metadata,
    tool_calls: next.message.tool_calls ?? [],
    invalid_tool_calls: next.message.invalid_tool_calls ?? [],
  });
  const usage = sum(before.usage_metadata, next.message.usage_metadata);
  // Assigned because the constructor's type does not allow `undefined` under exactOptionalPropertyTypes.
  return {
    ...next,
    text: text + added,
    message: usage === undefined ? message : Object.assign(message, { usage_metadata: usage }),
  };
}

function sum(one: UsageMetadata | undefined, other: UsageMetadata | undefined): UsageMetadata | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return {
    input_tokens: one.input_tokens + other.input_tokens,
    output_tokens: one.output_tokens + other.output_tokens,
    total_tokens: one.total_tokens + other.total_tokens,
  };
}
