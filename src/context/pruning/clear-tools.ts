import { isAIMessage, isToolMessage, ToolMessage, type AIMessage, type BaseMessage } from "@langchain/core/messages";
import { modelViewOf } from "@millrace/engine/sessions/messages/message-fields";
import { withCalls } from "./delete-messages.ts";
import { countMessage } from "../tokens/tokens.ts";

/** Number of clearable messages, and of last messages, that stay. */
const kept = 6;
/** Characters kept of an argument. */
const argumentLength = 500;
const cutMark = "… [cut to save tokens]";

/** A message's cleared form; absent if that saves nothing. */
interface Clearing {
  index: number;
  cleared: BaseMessage;
}

/**
 * Clears tool results, then long call arguments, oldest first, until the messages fit `maxTokens` tokens or only six
 * clearable ones are left. The last six messages stay. `textFor` gives the replacement for a tool's result. Originals
 * are unchanged; idempotent.
 */
export function clearTools(
  messages: readonly (BaseMessage | undefined)[],
  maxTokens: number,
  textFor: (tool: string) => string,
): { messages: (BaseMessage | undefined)[]; cleared: number } {
  const result = [...messages];
  let tokens = 0;
  for (const message of messages) tokens += message === undefined ? 0 : countMessage(message);
  if (tokens <= maxTokens) return { messages: result, cleared: 0 };

  const results = clearings(messages, (message) =>
    isToolMessage(message) ? withoutContent(message, textFor) : undefined,
  );
  const calls = clearings(messages, (message) => (isAIMessage(message) ? withShortArguments(message) : undefined));
  const last = placeOfLast(messages, kept);
  let cleared = 0;
  for (const { index, cleared: shorter } of [...results, ...calls]) {
    if (tokens <= maxTokens || results.length + calls.length - cleared <= kept) break;
    const message = messages[index];
    if (index >= last || message === undefined) continue;
    result[index] = shorter;
    tokens += countMessage(shorter) - countMessage(message);
    cleared += 1;
  }
  return { messages: result, cleared };
}

function clearings(
  messages: readonly (BaseMessage | undefined)[],
  clear: (message: BaseMessage) => BaseMessage | undefined,
): Clearing[] {
  return messages.flatMap((message, index) => {
    const cleared = message === undefined || modelViewOf(message) === "keep" ? undefined : clear(message);
    return message === undefined || cleared === undefined || countMessage(cleared) >= countMessage(message)
      ? []
      : [{ index, cleared }];
  });
}

/** Index where the last `count` messages start. */
function placeOfLast(messages: readonly unknown[], count: number): number {
  let left = 0;
  let index = messages.length;
  while (index > 0 && left < count) {
    index -= 1;
    if (messages[index] !== undefined) left += 1;
  }
  return index;
}

const emptied = new WeakMap<BaseMessage, ToolMessage>();

/** The result message with other content. */
function withoutContent(message: ToolMessage, textFor: (tool: string) => string): ToolMessage {
  const content = textFor(message.name ?? "tool");
  const known = emptied.get(message);
  if (known?.content === content) return known;
  const { id, name, tool_call_id, status, additional_kwargs } = message;
  const envelope = new ToolMessage({ content, tool_call_id, additional_kwargs, id, name, status });
  emptied.set(message, envelope);
  return envelope;
}

const shortened = new WeakMap<BaseMessage, AIMessage | null>();

/** The reply with long call arguments cut; `undefined` if there are none. */
function withShortArguments(message: AIMessage): AIMessage | undefined {
  const known = shortened.get(message);
  if (known !== undefined) return known ?? undefined;
  let isChanged = false;
  const shorten = (value: unknown): unknown => {
    if (typeof value === "string") {
      if (value.length <= argumentLength) return value;
      isChanged = true;
      // Some providers refuse lone surrogates.
      return value.slice(0, argumentLength - cutMark.length).replace(/\p{Cs}$/u, "") + cutMark;
    }
    if (Array.isArray(value)) return value.map(shorten);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shorten(inner)]));
  };
  const calls = (message.tool_calls ?? []).map((call) => ({
    ...call,
    args: Object.fromEntries(Object.entries(call.args).map(([key, value]) => [key, shorten(value)])),
  }));
  const short = isChanged ? withCalls(message, calls) : null;
  shortened.set(message, short);
  return short ?? undefined;
}
