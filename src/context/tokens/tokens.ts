import { isAIMessage, type BaseMessage } from "@langchain/core/messages";
import { textOf } from "@millrace/engine/message-kinds";
import { countImagePart } from "./image-tokens.ts";

/** Overhead tokens per message: role 4, separators 3. */
const messageOverhead = 7;
/** Extra overhead of a system message. */
const systemOverhead = 4;

const counted = new WeakMap<BaseMessage, MessageTokens>();

/** Estimated tokens of a message by part. */
export interface MessageTokens {
  /** The text, without images. */
  content: number;
  images: number;
  reasoning: number;
  calls: number;
  overhead: number;
  total: number;
}

/**
 * Estimated tokens of a text: Chinese, Japanese and Korean characters / 1.5, others / 4. Computed from the UTF-8 byte
 * length in native code (three bytes for such a character, one for a Latin one), so long texts do not block.
 */
export function countText(text: string): number {
  const extraBytes = Buffer.byteLength(text, "utf8") - text.length;
  const wide = Math.min(text.length, extraBytes / 2);
  return Math.ceil(wide / 1.5 + (text.length - wide) / 4);
}

/** Estimated tokens of one message with its tool calls and reasoning. */
export function countMessage(message: BaseMessage): number {
  return weighMessage(message).total;
}

/** Estimated tokens of one message by part. Cached per message object. */
export function weighMessage(message: BaseMessage): MessageTokens {
  const known = counted.get(message);
  if (known !== undefined) return known;
  const weight = weighParts(message, (isAIMessage(message) ? message.tool_calls : undefined) ?? []);
  if (message.getType() === "system") {
    weight.overhead += systemOverhead;
    weight.total += systemOverhead;
  }
  counted.set(message, weight);
  return weight;
}

/** Estimated tokens of an answer of a model that is not a message yet. */
export function weighParts(
  { content: messageContent, additional_kwargs }: Pick<BaseMessage, "content" | "additional_kwargs">,
  toolCalls: readonly { name: string; args: Record<string, unknown> }[],
): MessageTokens {
  const { content, images } = countContent(messageContent);
  const kept = additional_kwargs["reasoning_content"];
  const reasoning = typeof kept === "string" ? countText(kept) : 0;
  let calls = 0;
  for (const call of toolCalls) calls += countText(call.name + JSON.stringify(call.args));
  const total = content + images + reasoning + calls + messageOverhead;
  return { content, images, reasoning, calls, overhead: messageOverhead, total };
}

/** Estimated tokens of a list of messages. */
export function countMessages(messages: readonly BaseMessage[]): number {
  let tokens = 0;
  for (const message of messages) tokens += countMessage(message);
  return tokens;
}

/** Images cost by their size, all other parts by their text. */
function countContent(content: BaseMessage["content"]): { content: number; images: number } {
  if (typeof content === "string") return { content: countText(content), images: 0 };
  let text = 0;
  let images = 0;
  for (const part of content) {
    const image = countImagePart(part);
    if (image === undefined) text += countText(textOf([part]));
    else images += image;
  }
  return { content: text, images };
}
