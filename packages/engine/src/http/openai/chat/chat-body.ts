import { z } from "zod";
import { JsonObject } from "../../../storage/records.ts";
import { FunctionName, Metadata, ModelName, type InputMessage } from "../turn/input-message.ts";

const Text = z.string();
const TextPart = z.looseObject({ type: z.enum(["text", "refusal"]), text: Text.optional(), refusal: Text.optional() });
const ImagePart = z.looseObject({
  type: z.literal("image_url"),
  image_url: z.looseObject({ url: Text, detail: Text.optional() }),
});
const AudioPart = z.looseObject({
  type: z.literal("input_audio"),
  input_audio: z.looseObject({ data: Text, format: Text }),
});
const FilePart = z.looseObject({
  type: z.literal("file"),
  file: z.looseObject({ file_data: Text.optional(), file_id: Text.optional(), filename: Text.optional() }),
});
const Part = z.discriminatedUnion("type", [TextPart, ImagePart, AudioPart, FilePart]);
const Content = z.union([Text, z.array(Part)]).nullish();

const ToolCall = z.looseObject({ id: Text, function: z.looseObject({ name: Text, arguments: Text }) });

const ChatMessage = z.discriminatedUnion("role", [
  z.looseObject({ role: z.enum(["system", "developer"]), content: Content }),
  z.looseObject({ role: z.literal("user"), content: Content, name: Text.optional() }),
  z.looseObject({ role: z.literal("assistant"), content: Content, tool_calls: z.array(ToolCall).nullish() }),
  z.looseObject({ role: z.literal("tool"), content: Content, tool_call_id: Text }),
]);
type ChatMessage = z.infer<typeof ChatMessage>;

const FunctionTool = z.looseObject({
  type: z.literal("function"),
  function: z.looseObject({ name: FunctionName, description: Text.nullish(), parameters: JsonObject.nullish() }),
});

/** The body of `POST /v1/chat/completions`; what else OpenAI knows is taken and ignored. */
export const ChatCompletionBody = z
  .looseObject({
    model: ModelName,
    messages: z.array(ChatMessage).min(1).max(20_000),
    stream: z.boolean().nullish(),
    stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
    tools: z.array(FunctionTool).max(128).nullish(),
    temperature: z.number().min(0).max(2).nullish(),
    max_tokens: z.number().int().min(1).nullish(),
    max_completion_tokens: z.number().int().min(1).nullish(),
    reasoning_effort: z.string().nullish(),
    metadata: Metadata,
    n: z.literal(1, { error: "expected 1: a graph gives one answer" }).nullish(),
  })
  .meta({ ref: "ChatCompletionCreate" });
export type ChatCompletionBody = z.infer<typeof ChatCompletionBody>;

/** The tools of the client, as all routes hand them on. */
export function chatTools({
  tools,
}: ChatCompletionBody): { name: string; description?: string; parameters?: JsonObject }[] {
  return (tools ?? []).map(({ function: { name, description, parameters } }) => ({
    name,
    ...(description ? { description } : {}),
    ...(parameters ? { parameters } : {}),
  }));
}

/** The messages as all routes hand them on. */
export function chatMessages({ messages }: ChatCompletionBody): InputMessage[] {
  return messages.map((message): InputMessage => {
    const content = contentOf(message);
    switch (message.role) {
      case "system":
      case "developer":
        return { role: "system", content };
      case "user":
        return { role: "user", content };
      case "assistant":
        return {
          role: "assistant",
          content,
          calls: (message.tool_calls ?? []).map(({ id, function: { name, arguments: args } }) => ({ id, name, args })),
        };
      case "tool":
        return { role: "tool", content, call: message.tool_call_id };
    }
  });
}

function contentOf({ content }: ChatMessage): InputMessage["content"] {
  if (content === undefined || content === null) return "";
  return typeof content === "string" ? content : content.map(toBlock);
}

/** A part of a message as a content block of LangChain. */
function toBlock(part: z.infer<typeof Part>): JsonObject {
  switch (part.type) {
    case "text":
    case "refusal":
      return { type: "text", text: part.text ?? part.refusal ?? "" };
    case "image_url":
      return { type: "image_url", image_url: part.image_url };
    case "input_audio": {
      const { data, format } = part.input_audio;
      return { type: "audio", source_type: "base64", data, mime_type: `audio/${format}` };
    }
    case "file": {
      const { file_data, file_id, filename } = part.file;
      const metadata = filename === undefined ? {} : { metadata: { filename } };
      if (file_data === undefined) return { type: "file", source_type: "id", id: file_id ?? "", ...metadata };
      const [, mime_type = "application/octet-stream", data = file_data] =
        /^data:([^;,]+);base64,(.*)$/su.exec(file_data) ?? [];
      return { type: "file", source_type: "base64", data, mime_type, ...metadata };
    }
  }
}
