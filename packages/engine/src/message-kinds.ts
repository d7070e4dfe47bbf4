import {
  type AIMessage,
  type AIMessageChunk,
  type BaseMessage,
  type BaseMessageChunk,
  type HumanMessage,
  type ToolCall,
  ToolMessage,
} from "@langchain/core/messages";

/**
 * Recognises LangChain's messages from any copy of the package: a user's folder may have its own version with classes
 * other than ours. Only properties that all versions have are checked, in constant time.
 */
const mark = Symbol.for("langchain.message");

/** Whether a value is a message, whole or a chunk. */
export function isBaseMessage(value: unknown): value is BaseMessage {
  if (typeof value !== "object" || value === null) return false;
  return (mark in value && value[mark] === true) || ("_getType" in value && typeof value._getType === "function");
}

/** Whether a message is a chunk, to be concatenated with the next. */
export function isBaseMessageChunk(value: unknown): value is BaseMessageChunk {
  return isBaseMessage(value) && "concat" in value && typeof value.concat === "function";
}

/** A message's kind as the wire names it: `ai`, `human`, `tool` … */
export function kindOf(message: BaseMessage): string {
  // Versions before 0.3 have only the older name.
  return "getType" in message ? message.getType() : (message as { _getType(): string })._getType();
}

/** Whether a message is a model's, whole or a chunk. */
export function isAIMessage(message: BaseMessage): message is AIMessage {
  return kindOf(message) === "ai";
}

/** Whether a value is a piece of a model's message. */
export function isAIMessageChunk(value: unknown): value is AIMessageChunk {
  return isBaseMessageChunk(value) && kindOf(value) === "ai";
}

/** Whether a message is a person's. */
export function isHumanMessage(message: BaseMessage): message is HumanMessage {
  return kindOf(message) === "human";
}

/** Whether a message is the result of a tool call. */
export function isToolMessage(message: BaseMessage): message is ToolMessage {
  return kindOf(message) === "tool";
}

/** The text of a message, without other content. */
export function messageText({ content }: Pick<BaseMessage, "content">): string {
  if (typeof content === "string") return content;
  return content.map((part) => (part.type === "text" && typeof part["text"] === "string" ? part["text"] : "")).join("");
}

/** By prototype: whether it is that of `AIMessageChunk` itself. */
const plainChunks = new WeakMap<object, boolean>();

/** Whether a value is an `AIMessageChunk`, not a subclass with fields of its own. */
export function isPlainAIMessageChunk(value: unknown): value is AIMessageChunk {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (typeof prototype !== "object" || prototype === null) return false;
  let isPlain = plainChunks.get(prototype);
  if (isPlain === undefined) {
    // LangChain's serialisation name of a class; a subclass only inherits it.
    const { constructor: made } = prototype;
    const name: unknown = Object.getOwnPropertyDescriptor(made, "lc_name")?.value;
    isPlain = typeof name === "function" && name.call(made) === "AIMessageChunk" && isAIMessageChunk(value);
    plainChunks.set(prototype, isPlain);
  }
  return isPlain;
}

/** The text of a message's content, joined; other parts as JSON. */
export function textOf(content: BaseMessage["content"]): string {
  if (typeof content === "string") return content;
  return content
    .map((part) => ("text" in part && typeof part.text === "string" ? part.text : JSON.stringify(part)))
    .join("\n");
}

/** The result that the model reads for a call interrupted before it finished. */
export const interruptedResult =
  "This tool call was interrupted before it had a result. Whether it had an effect is not known.";

/**
 * Repairs a list for strict providers: each assistant message with tool calls must be followed by exactly one result
 * per call, and there are no other results. Valid parts stay; a missing result says the call was interrupted, unless
 * `missingResult` has a better one. Idempotent. Returns the given list if it is valid.
 */
export function repairToolPairs(
  messages: BaseMessage[],
  missingResult: (call: ToolCall, index: number, message: AIMessage) => ToolMessage = interrupted,
): BaseMessage[] {
  if (isValid(messages)) return messages;
  const results = resultsOf(messages);
  const repaired: BaseMessage[] = [];
  for (const message of messages) {
    if (isToolMessage(message)) continue;
    repaired.push(message);
    if (!isAIMessage(message)) continue;
    for (const [index, call] of (message.tool_calls ?? []).entries()) {
      repaired.push(results.get(call) ?? missingResult(call, index, message));
    }
  }
  return repaired;
}

/** The result of each call: a result belongs to the nearest preceding call, since some servers reuse ids. */
function resultsOf(messages: readonly BaseMessage[]): Map<ToolCall, ToolMessage> {
  const open = new Map<string, ToolCall[]>();
  const results = new Map<ToolCall, ToolMessage>();
  for (const message of messages) {
    if (isToolMessage(message)) {
      const call = open.get(message.tool_call_id)?.pop();
      if (call !== undefined) results.set(call, message);
    } else if (isAIMessage(message)) {
      for (const call of message.tool_calls ?? []) {
        const id = call.id ?? "";
        open.set(id, [...(open.get(id) ?? []), call]);
      }
    }
  }
  return results;
}

function interrupted(call: ToolCall): ToolMessage {
  return new ToolMessage({
    tool_call_id: call.id ?? "",
    name: call.name,
    status: "error",
    content: interruptedResult,
  });
}

function isValid(messages: BaseMessage[]): boolean {
  for (let index = 0; index < messages.length; index += 1) {
    const message = messages[index];
    if (message === undefined || isToolMessage(message)) return false;
    const calls = isAIMessage(message) ? (message.tool_calls ?? []) : [];
    if (calls.length === 0) continue;
    const results = messages.slice(index + 1, index + 1 + calls.length);
    const open = calls.map((call) => call.id ?? "");
    for (const result of results) {
      const at = isToolMessage(result) ? open.indexOf(result.tool_call_id) : -1;
      if (at === -1) return false;
      open.splice(at, 1);
    }
    if (open.length > 0) return false;
    index += calls.length;
  }
  return true;
}

/** Where a message keeps encrypted reasoning that only its vendor can read, during its turn. */
export const sealedField = "sealed_reasoning";

/** A message's extra fields without sealed reasoning; the same object if there is none. */
export function withoutSealed(kwargs: BaseMessage["additional_kwargs"]): BaseMessage["additional_kwargs"] {
  if (!(sealedField in kwargs)) return kwargs;
  const { [sealedField]: _sealed, ...rest } = kwargs;
  return rest;
}

/** Removes sealed reasoning from messages of finished turns, which no vendor would read. Returns the same messages. */
export function dropSealed<Message extends BaseMessage>(messages: Message[]): Message[] {
  for (const message of messages) message.additional_kwargs = withoutSealed(message.additional_kwargs);
  return messages;
}
