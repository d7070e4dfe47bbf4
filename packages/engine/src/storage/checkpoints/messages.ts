import {
  AIMessage,
  AIMessageChunk,
  ChatMessage,
  ChatMessageChunk,
  FunctionMessage,
  FunctionMessageChunk,
  HumanMessage,
  HumanMessageChunk,
  RemoveMessage,
  SystemMessage,
  SystemMessageChunk,
  ToolMessage,
  ToolMessageChunk,
  type BaseMessage,
} from "@langchain/core/messages";

const content = "";
/** The closed list of message classes that a row may name, each with what makes an empty one. */
const makers: Record<string, () => BaseMessage> = {
  AIMessage: () => new AIMessage({ content }),
  AIMessageChunk: () => new AIMessageChunk({ content }),
  ChatMessage: () => new ChatMessage({ content, role: "" }),
  ChatMessageChunk: () => new ChatMessageChunk({ content, role: "" }),
  FunctionMessage: () => new FunctionMessage({ content, name: "" }),
  FunctionMessageChunk: () => new FunctionMessageChunk({ content, name: "" }),
  HumanMessage: () => new HumanMessage({ content }),
  HumanMessageChunk: () => new HumanMessageChunk({ content }),
  RemoveMessage: () => new RemoveMessage({ id: "" }),
  SystemMessage: () => new SystemMessage({ content }),
  SystemMessageChunk: () => new SystemMessageChunk({ content }),
  ToolMessage: () => new ToolMessage({ content, tool_call_id: "" }),
  ToolMessageChunk: () => new ToolMessageChunk({ content, tool_call_id: "" }),
};
const kinds = new Map(Object.entries(makers).map(([kind, make]) => [Object.getPrototypeOf(make()) as unknown, kind])); // a prototype is only a key here

/** What the constructors set themselves, and `id`, which is kept beside the fields. */
const ownKeys = new Set(["lc_kwargs", "lc_namespace", "lc_serializable", "lc_direct_tool_output", "type", "id"]);
const defaults: Record<string, "object" | "array"> = {
  additional_kwargs: "object",
  response_metadata: "object",
  tool_calls: "array",
  invalid_tool_calls: "array",
  tool_call_chunks: "array",
};

/** The class a message is written as: its own or the nearest known ancestor; `undefined` when there is none. */
export function messageKind(message: BaseMessage): string | undefined {
  let prototype: unknown = Object.getPrototypeOf(message);
  while (typeof prototype === "object" && prototype !== null) {
    const kind = kinds.get(prototype) ?? prototype.constructor.name;
    if (Object.hasOwn(makers, kind)) return kind;
    prototype = Object.getPrototypeOf(prototype);
  }
  return undefined;
}

function isDefault(key: string, value: unknown): boolean {
  const kind = defaults[key];
  if (kind === undefined || typeof value !== "object" || value === null) return false;
  if (kind === "array") return Array.isArray(value) && value.length === 0;
  return !Array.isArray(value) && Object.keys(value).length === 0;
}

/** What of a message is worth a row: everything but its id that its constructor does not set by itself. */
export function messageFields(message: BaseMessage): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(message)) {
    if (value === undefined || typeof value === "function" || ownKeys.has(key) || isDefault(key, value)) continue;
    fields[key] = value;
  }
  return fields;
}

/**
 * The message again, from what `messageFields` gave. The fields are set after construction, because the constructors
 * parse, warn and rewrite. `undefined` for a class that is not on the list.
 */
export function makeMessage(kind: string, fields: Record<string, unknown>, id: unknown): BaseMessage | undefined {
  const make = Object.hasOwn(makers, kind) ? makers[kind] : undefined;
  if (make === undefined) return undefined;
  const message = make();
  if (id !== undefined) fields["id"] = id;
  const kwargs: Record<string, unknown> = Object.assign({}, message.lc_kwargs);
  if (Object.hasOwn(fields, "__proto__")) {
    for (const [key, value] of Object.entries(fields)) {
      setOwnProperty(kwargs, key, value);
      setOwnProperty(message, key, value);
    }
  } else {
    Object.assign(kwargs, fields);
    Object.assign(message, fields);
  }
  message.lc_kwargs = kwargs;
  return message;
}

/** Sets a property as data: a key such as `__proto__` must not reach a setter. */
export function setOwnProperty(target: object, key: string, value: unknown): void {
  if (key === "__proto__") {
    Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
  } else {
    Reflect.set(target, key, value);
  }
}
