import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { z } from "zod";
import { textOf } from "../../message-kinds.ts";
import { JsonObject } from "../../storage/records.ts";
import { extname } from "node:path";

/** What a user's message contains besides text. `size` is in bytes. */
export const Attachment = z
  .object({
    type: z.enum(["image", "file"]),
    path: z.string().min(1).max(4096),
    name: z.string().min(1).max(255),
    mime_type: z.string().max(255).default(""),
    size: z.number().int().nonnegative().default(0),
  })
  .superRefine((attachment, context) => {
    if (attachment.type !== "image") return;
    const { name, size, mime_type } = attachment;
    if (!imageEndings.has(extname(name).toLowerCase())) {
      const message = `an image ends with ${[...imageEndings].join(", ")}, got ${JSON.stringify(name)}`;
      context.addIssue({ code: "custom", path: ["name"], message });
    }
    if (size > imageLimit) {
      const message = `an image has at most ${imageLimit} bytes, got ${size}`;
      context.addIssue({ code: "custom", path: ["size"], message });
    }
    if (mime_type !== "" && !mime_type.startsWith("image/")) {
      const message = `the type of an image begins with image/, got ${JSON.stringify(mime_type)}`;
      context.addIssue({ code: "custom", path: ["mime_type"], message });
    }
  });

export type Attachment = z.infer<typeof Attachment>;

/** The role of a message in our API. */
export const MessageRole = z.enum(["user", "assistant", "system", "tool"]);
export type MessageRole = z.infer<typeof MessageRole>;

const roles: Readonly<Record<string, MessageRole>> = {
  human: "user",
  user: "user",
  ai: "assistant",
  assistant: "assistant",
  system: "system",
  developer: "system",
  tool: "tool",
  function: "tool",
};

/** The role of a LangChain or API name; `undefined` for any other name. */
export function roleNamed(name: string): MessageRole | undefined {
  return Object.hasOwn(roles, name) ? roles[name] : undefined;
}

/** The role of a message; unknown ones count as the assistant's. */
export function roleOf(message: BaseMessage): MessageRole {
  const named = "role" in message && typeof message.role === "string" ? message.role : message.type;
  return roleNamed(named) ?? "assistant";
}

/** Tokens of one model call. */
export const TokenUsage = z.object({
  total_tokens: z.number().default(0),
  prompt_tokens: z.number().default(0),
  completion_tokens: z.number().default(0),
  cached_tokens: z.number().default(0),
});
export type TokenUsage = z.infer<typeof TokenUsage>;

/** What a model call cost and which model answered; costs are in the unit of the run's price. */
export const LlmMetadata = z.looseObject({
  model_name: z.string().optional(),
  input_tokens: z.number().nonnegative().optional(),
  output_tokens: z.number().nonnegative().optional(),
  input_cost: z.number().nonnegative().optional(),
  output_cost: z.number().nonnegative().optional(),
  conversation_round: z.number().int().nonnegative().optional(),
  model_call_id: z.string().optional(),
});

/** What our own code, including older versions, keeps beside a message's text. Invalid values are ignored. */
const Extras = z.object({
  timestamp: z.string().nullable().default(null).catch(null),
  reasoning_content: z.string().default("").catch(""),
  operations: z.array(z.string()).default([]).catch([]),
  usage: TokenUsage.nullable().default(null).catch(null),
  attachments: z.array(Attachment).default([]).catch([]),
  is_partial: z.boolean().default(false).catch(false),
  stop_reason: z.string().default("").catch(""),
  web_search_results: z.array(JsonObject).default([]).catch([]),
  metadata: JsonObject.default({}).catch({}),
  llm_metadata: LlmMetadata.nullable().default(null).catch(null),
  hidden: z.boolean().default(false).catch(false),
});

/** What is kept beside a message's text; missing parts are empty or `null`. */
export type MessageExtras = z.infer<typeof Extras>;

/** Reads everything kept beside the text, including reasoning that a model wrote into it. */
export function readExtras(message: BaseMessage): MessageExtras {
  const extras = Extras.parse(message.additional_kwargs);
  return {
    ...extras,
    reasoning_content: extras.reasoning_content || splitReasoning(textOf(message.content)).reasoning,
    usage: readUsage(message) ?? extras.usage,
  };
}

/** How a message was marked: always in the model's view, or never. */
export const ModelView = z.enum(["keep", "hide"]);

/** The mark of a message; `null` where the graph decides what its model sees. */
export function modelViewOf({ additional_kwargs }: BaseMessage): z.infer<typeof ModelView> | null {
  // Asked of every message of long conversations, so without a parse.
  const mark = additional_kwargs["model_view"];
  return mark === "keep" || mark === "hide" ? mark : null;
}

/** The text of a message, without reasoning inside it. */
export function wordsOf(message: BaseMessage): string {
  const text = textOf(message.content);
  return roleOf(message) === "assistant" ? splitReasoning(text).content : text;
}

/** Separates reasoning in tags at the beginning of an answer from the answer. */
export function splitReasoning(text: string): { reasoning: string; content: string } {
  const opening = /^\s*<(think|thinking)>/u.exec(text);
  if (opening === null) return { reasoning: "", content: text };
  const begin = opening[0].length;
  const closing = `</${opening[1]}>`;
  const end = text.indexOf(closing, begin);
  // Cut off in the middle: all of it is reasoning so far.
  if (end === -1) return { reasoning: text.slice(begin).trim(), content: "" };
  return { reasoning: text.slice(begin, end).trim(), content: text.slice(end + closing.length).trimStart() };
}

const Counted = z.object({
  usage_metadata: z.object({
    input_tokens: z.number(),
    output_tokens: z.number(),
    total_tokens: z.number(),
    input_token_details: z.object({ cache_read: z.number().default(0) }).default({ cache_read: 0 }),
  }),
});

function readUsage(message: BaseMessage): TokenUsage | null {
  const counted = Counted.safeParse(message).data?.usage_metadata;
  if (counted === undefined) return null;
  return {
    total_tokens: counted.total_tokens,
    prompt_tokens: counted.input_tokens,
    completion_tokens: counted.output_tokens,
    cached_tokens: counted.input_token_details.cache_read,
  };
}

/** A copy of the message with its calls' operations as readable lines. */
export function setOperations(message: AIMessage, operations: readonly string[]): AIMessage {
  const { id, name, content, tool_calls, usage_metadata, response_metadata } = message;
  return new AIMessage({
    content,
    response_metadata,
    additional_kwargs: { ...message.additional_kwargs, operations: [...operations] },
    ...(id !== undefined && { id }),
    ...(name !== undefined && { name }),
    ...(tool_calls !== undefined && { tool_calls }),
    ...(usage_metadata !== undefined && { usage_metadata }),
  });
}

/** File extensions of images that a message may have. */
const imageEndings = new Set([".png", ".jpg", ".jpeg", ".webp"]);
/** Maximum bytes of an image. */
const imageLimit = 10 * 1024 * 1024;

/** Attachments of one message. */
export const Attachments = z.array(Attachment).max(20);

/** Something the user refers to, with its whole content: a text, file, folder or web page. */
const Reference = z.object({
  type: z.enum(["text", "file", "folder", "url", "symbol"]),
  source: z.string().max(4096),
  content: z.string().max(1_000_000),
});

/** References of one message. */
export const References = z.array(Reference).max(50);
