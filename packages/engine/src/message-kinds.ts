import type {
  AIMessage,
  AIMessageChunk,
  BaseMessage,
  BaseMessageChunk,
  HumanMessage,
  ToolMessage,
} from "@langchain/core/messages";

/**
 * What LangChain's messages are, whichever copy of the package has made them: a user's folder may have its own, of any
 * version, and its classes are not ours. Looked at is what all versions have; none of it costs more for a longer message.
 */
const mark = Symbol.for("langchain.message");

/** Whether a value is a message, whole or a chunk. */
export function isBaseMessage(value: unknown): value is BaseMessage {
  if (typeof value !== "object" || value === null) return false;
  return (mark in value && value[mark] === true) || ("_getType" in value && typeof value._getType === "function");
}

/** Whether a message is a piece of one, which the next one is added to. */
export function isBaseMessageChunk(value: unknown): value is BaseMessageChunk {
  return isBaseMessage(value) && "concat" in value && typeof value.concat === "function";
}

/** The kind of a message as the wire names it: `ai`, `human`, `tool` … */
export function kindOf(message: BaseMessage): string {
  // Versions before 0.3 only have the older name.
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

/** The words of a message, without what else its content has. */
export function messageText({ content }: Pick<BaseMessage, "content">): string {
  if (typeof content === "string") return content;
  return content.map((part) => (part.type === "text" && typeof part["text"] === "string" ? part["text"] : "")).join("");
}

/** For each prototype that was met, whether it is that of `AIMessageChunk` itself. */
const plainChunks = new WeakMap<object, boolean>();

/** Whether a value is an `AIMessageChunk` and no subclass of it, which would have fields of its own. */
export function isPlainAIMessageChunk(value: unknown): value is AIMessageChunk {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (typeof prototype !== "object" || prototype === null) return false;
  let isPlain = plainChunks.get(prototype);
  if (isPlain === undefined) {
    // The name by which LangChain stores a class; a subclass has it only by inheritance.
    const { constructor: made } = prototype;
    const name: unknown = Object.getOwnPropertyDescriptor(made, "lc_name")?.value;
    isPlain = typeof name === "function" && name.call(made) === "AIMessageChunk" && isAIMessageChunk(value);
    plainChunks.set(prototype, isPlain);
  }
  return isPlain;
}
