import { z } from "zod";
import { JsonObject } from "../../../storage/records.ts";
import { FunctionName, type InputMessage, Metadata, ModelName } from "../turn/follow-turn.ts";

const Text = z.string();
const Part = z.discriminatedUnion("type", [
  z.looseObject({ type: z.enum(["input_text", "output_text"]), text: Text }),
  z.looseObject({ type: z.literal("refusal"), refusal: Text }),
  z.looseObject({ type: z.literal("input_image"), image_url: Text.nullish(), detail: Text.nullish() }),
  z.looseObject({ type: z.literal("input_audio"), input_audio: z.looseObject({ data: Text, format: Text }) }),
  z.looseObject({ type: z.literal("input_file"), file_data: Text.nullish(), file_url: Text.nullish() }),
]);
type Part = z.infer<typeof Part>;

const Message = z.looseObject({
  type: z.literal("message").optional(),
  role: z.enum(["user", "assistant", "system", "developer"]),
  content: z.union([Text, z.array(Part)]),
});
const Call = z.looseObject({ type: z.literal("function_call"), call_id: Text, name: Text, arguments: Text });
const Output = z.looseObject({
  type: z.literal("function_call_output"),
  call_id: Text,
  output: z.union([Text, z.array(Part)]),
});
/** Reasoning, and other items that only OpenAI's own tools produce. */
const Other = z.looseObject({ type: Text });
const Item = z.union([Message, Call, Output, Other]);

const FunctionTool = z.looseObject({
  type: z.literal("function"),
  name: FunctionName,
  description: Text.nullish(),
  parameters: JsonObject.nullish(),
});

/** The body of `POST /v1/responses`; OpenAI's other fields are accepted and ignored. */
export const ResponseBody = z
  .looseObject({
    model: ModelName,
    input: z.union([Text, z.array(Item).max(20_000)]),
    instructions: Text.max(200_000).nullish(),
    previous_response_id: Text.nullish(),
    conversation: z.union([Text, z.looseObject({ id: Text })]).nullish(),
    stream: z.boolean().nullish(),
    background: z.boolean().nullish(),
    store: z.boolean().nullish(),
    tools: z
      .array(z.union([FunctionTool, z.looseObject({ type: Text })]))
      .max(128)
      .nullish(),
    temperature: z.number().min(0).max(2).nullish(),
    max_output_tokens: z.number().int().min(1).nullish(),
    reasoning: z.looseObject({ effort: Text.nullish() }).nullish(),
    metadata: Metadata,
  })
  .refine(({ previous_response_id, conversation }) => !previous_response_id || !conversation, {
    error: "expected previous_response_id or conversation, not both",
    path: ["previous_response_id"],
  })
  .refine(({ background, store }) => background !== true || store !== false, {
    error: "expected store to be true: nobody could ask for a response in the background that is not stored",
    path: ["store"],
  })
  .meta({ ref: "ResponseCreate" });
export type ResponseBody = z.infer<typeof ResponseBody>;

/** The client's tools; OpenAI's built-in ones are not offered. */
export function responseTools({
  tools,
}: ResponseBody): { name: string; description?: string; parameters?: JsonObject }[] {
  return (tools ?? []).flatMap((given) => {
    const tool = FunctionTool.safeParse(given).data;
    if (tool === undefined) return [];
    const { name, description, parameters } = tool;
    return [{ name, ...(description ? { description } : {}), ...(parameters ? { parameters } : {}) }];
  });
}

/** The messages of the input. An assistant's text and calls in one turn are one message. */
export function responseMessages({ input, instructions }: ResponseBody): InputMessage[] {
  const messages: InputMessage[] = instructions ? [{ role: "system", content: instructions }] : [];
  if (typeof input === "string") return [...messages, { role: "user", content: input }];
  for (const item of input) {
    const message = messageOf(item);
    const last = messages.at(-1);
    if (message === undefined) continue;
    if (message.role !== "assistant" || last?.role !== "assistant") messages.push(message);
    else messages.splice(-1, 1, { ...last, content: joined(last, message), calls: [...last.calls, ...message.calls] });
  }
  return messages;
}

function messageOf(item: z.infer<typeof Item>): InputMessage | undefined {
  const call = Call.safeParse(item).data;
  if (call !== undefined) {
    const { call_id: id, name, arguments: args } = call;
    return { role: "assistant", content: "", calls: [{ id, name, args }] };
  }
  const output = Output.safeParse(item).data;
  if (output !== undefined) return { role: "tool", content: blocksOf(output.output), call: output.call_id };
  const message = Message.safeParse(item).data;
  if (message === undefined) return undefined;
  const content = blocksOf(message.content);
  if (message.role === "assistant") return { role: "assistant", content, calls: [] };
  return { role: message.role === "user" ? "user" : "system", content };
}

function joined(left: InputMessage, right: InputMessage): InputMessage["content"] {
  const [first, second] = [left.content, right.content];
  if (first.length === 0) return second;
  if (second.length === 0) return first;
  if (typeof first === "string" && typeof second === "string") return `${first}\n\n${second}`;
  const asBlocks = (content: InputMessage["content"]): JsonObject[] =>
    typeof content === "string" ? [{ type: "text", text: content }] : content;
  return [...asBlocks(first), ...asBlocks(second)];
}

function blocksOf(content: string | Part[]): InputMessage["content"] {
  if (typeof content === "string") return content;
  const words = content.map((part) => ("text" in part && typeof part.text === "string" ? part.text : undefined));
  return words.every((text) => text !== undefined) ? words.join("") : content.map(toBlock);
}

/** A part of a message as a content block of LangChain. */
function toBlock(part: Part): JsonObject {
  switch (part.type) {
    case "input_text":
    case "output_text":
      return { type: "text", text: part.text };
    case "refusal":
      return { type: "text", text: part.refusal };
    case "input_image":
      return { type: "image_url", image_url: { url: part.image_url ?? "", detail: part.detail ?? "auto" } };
    case "input_audio": {
      const { data, format } = part.input_audio;
      return { type: "audio", source_type: "base64", data, mime_type: `audio/${format}` };
    }
    case "input_file":
      return part.file_data
        ? fileBlock(part.file_data)
        : { type: "file", source_type: "url", url: part.file_url ?? "", mime_type: "application/octet-stream" };
  }
}

/** A file sent inline, as a data URL or in base64. */
function fileBlock(given: string): JsonObject {
  const [, mime_type = "application/octet-stream", data = given] = /^data:([^;,]+);base64,(.*)$/su.exec(given) ?? [];
  return { type: "file", source_type: "base64", data, mime_type };
}
