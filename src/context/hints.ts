import {
  type AIMessage,
  HumanMessage,
  isAIMessage,
  isHumanMessage,
  isToolMessage,
  ToolMessage,
  type BaseMessage,
  type MessageContent,
} from "@langchain/core/messages";
import { withCalls } from "./pruning/delete-messages.ts";

const begin = "[Hint: message_id: ";
/** With preceding whitespace, matched only from its start: a model may write megabytes of line breaks. */
const hint = /(?<!\s)\s*\[Hint: message_id: [0-9a-f]{8}\]/gu;
/** Maximum estimated tokens of a hint. */
export const hintTokens = 8;
/** Maximum characters held back while they may become a hint. */
const maxTailLength = 100;

const hinted = new WeakMap<BaseMessage, { id: string; copy: BaseMessage }>();

/** A copy that ends with the hint that identifies the message to the model. Cached per message object. */
export function withHint(message: BaseMessage, id: string): BaseMessage {
  const known = hinted.get(message);
  if (known?.id === id) return known.copy;
  const copy = hintedCopy(message, `${begin}${id}]`);
  hinted.set(message, { id, copy });
  return copy;
}

function hintedCopy(message: BaseMessage, text: string): BaseMessage {
  const content = appended(message.content, text);
  const { id, name, additional_kwargs } = message;
  const fields = { content, additional_kwargs, id, name };
  if (isToolMessage(message)) {
    const { tool_call_id, status } = message;
    return new ToolMessage({ ...fields, tool_call_id, status });
  }
  if (isHumanMessage(message)) return new HumanMessage(fields);
  if (!isAIMessage(message)) return message;
  return withContent(message, content);
}

function withContent(message: AIMessage, content: MessageContent): AIMessage {
  const copy = withCalls(message, message.tool_calls ?? []);
  copy.content = content;
  return copy;
}

function appended(content: MessageContent, text: string): MessageContent {
  if (typeof content !== "string") return [...content, { type: "text", text }];
  return content === "" ? text : `${content}\n\n${text}`;
}

/** Removes hints a model has repeated. */
export function withoutHints(text: string): string {
  return text.replaceAll(hint, "");
}

/** Removes hints from tool arguments, so that copied text does not carry them into files. */
export function withoutHintsIn(args: Record<string, unknown>): Record<string, unknown> {
  const clean = (value: unknown): unknown => {
    if (typeof value === "string") return withoutHints(value);
    if (Array.isArray(value)) return value.map(clean);
    return typeof value === "object" && value !== null ? cleanFields(value) : value;
  };
  const cleanFields = (fields: object): Record<string, unknown> =>
    Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, clean(value)]));
  return cleanFields(args);
}

/** Length of the text's end to hold back because it may become a hint: the start of one and preceding whitespace. */
export function openHintLength(text: string): number {
  const tail = text.slice(-maxTailLength);
  const at = tail.lastIndexOf("[");
  const opens = at !== -1 && isBeginning(tail.slice(at));
  const end = opens ? at : tail.length;
  let from = end;
  while (from > 0 && /\s/u.test(tail.charAt(from - 1))) from -= 1;
  return tail.length - from;
}

function isBeginning(text: string): boolean {
  return text.length <= begin.length
    ? begin.startsWith(text)
    : text.startsWith(begin) && /^[0-9a-f]{0,8}$/u.test(text.slice(begin.length));
}
