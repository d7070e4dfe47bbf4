import { isAIMessage, type BaseMessage } from "@langchain/core/messages";

/** Tokens that every message costs beside its text (TOKEN-04): role 4, separators 3. */
const messageOverhead = 7;

const counted = new WeakMap<BaseMessage, number>();

/**
 * Estimated tokens of a text (TOKEN-03): Chinese, Japanese and Korean characters / 1.5, all others / 4. Counted by bytes,
 * in native code, so that a long text never blocks: such a character takes three bytes, a Latin one a single byte.
 */
export function countText(text: string): number {
  const extraBytes = Buffer.byteLength(text, "utf8") - text.length;
  const wide = Math.min(text.length, extraBytes / 2);
  return Math.ceil(wide / 1.5 + (text.length - wide) / 4);
}

/** Estimated tokens of one message with its tool calls and reasoning. Remembered per message object. */
export function countMessage(message: BaseMessage): number {
  const known = counted.get(message);
  if (known !== undefined) return known;
  let tokens = messageOverhead + countText(textOf(message.content));
  const reasoning = message.additional_kwargs["reasoning_content"];
  if (typeof reasoning === "string") tokens += countText(reasoning);
  if (isAIMessage(message)) {
    for (const call of message.tool_calls ?? []) tokens += countText(call.name + JSON.stringify(call.args));
  }
  counted.set(message, tokens);
  return tokens;
}

/** Estimated tokens of a list of messages. */
export function countMessages(messages: readonly BaseMessage[]): number {
  let tokens = 0;
  for (const message of messages) tokens += countMessage(message);
  return tokens;
}

/** The text of a message's content, parts joined; parts that are not text count by their JSON. */
export function textOf(content: BaseMessage["content"]): string {
  if (typeof content === "string") return content;
  return content
    .map((part) => ("text" in part && typeof part.text === "string" ? part.text : JSON.stringify(part)))
    .join("\n");
}
