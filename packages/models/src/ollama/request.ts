import { isAIMessage, isToolMessage, type BaseMessage } from "@langchain/core/messages";
import { vendorRequest, type VendorContext, type SentMessage } from "../vendors/request.ts";

/** A message in Ollama's format. */
interface OllamaMessage {
  role: string;
  content: string;
  thinking?: string;
  images?: string[];
  tool_calls?: object[];
  tool_name?: string;
  tool_call_id?: string;
}

/** The fields of a chat request that the client writes incorrectly. */
export interface OllamaRequest {
  messages?: readonly SentMessage[];
  tools?: readonly object[] | undefined;
  format?: unknown;
  think?: unknown;
  options?: { temperature?: number | undefined; num_predict?: number | undefined };
}

/**
 * Completes the client's request for Ollama from `messages`. The client omits reasoning and the tool of a result, and
 * puts images into separate messages. Overlong prompts are to be refused, not cut; older servers ignore these two
 * fields and cut anyway, see `cutPrompt`.
 */
export function ollamaRequest<Request extends OllamaRequest>(
  request: Request,
  messages: readonly BaseMessage[],
  { toolChoice, ...context }: VendorContext & { toolChoice?: unknown },
): Request {
  const { tools, format, options, think: _, ...rest } = request;
  const written = vendorRequest(
    {
      messages: messages.map((message) => ollamaMessage(message)),
      stream: true,
      ...(tools === undefined ? {} : { tools }),
      ...(toolChoice === undefined ? {} : { tool_choice: namedChoice(toolChoice) }),
      ...(format === undefined ? {} : { response_format: format }),
      temperature: options?.temperature,
      max_tokens: options?.num_predict,
    },
    messages,
    context,
  );
  return {
    ...rest,
    messages: written.messages.map((message) => withThinking(message)),
    tools: written.tools,
    format,
    ...("think" in written ? { think: written.think } : {}),
    options: {
      ...options,
      temperature: written.temperature ?? undefined,
      num_predict: written.max_tokens ?? undefined,
    },
    truncate: false,
    shift: false,
    // The same body with some fields added or replaced.
  } as unknown as Request;
}

/** A choice may be a tool's bare name, as in OpenAI's client. */
function namedChoice(choice: unknown): unknown {
  if (choice === "any") return "required";
  if (typeof choice !== "string" || ["auto", "none", "required"].includes(choice)) return choice;
  return { type: "function", function: { name: choice } };
}

function ollamaMessage(message: BaseMessage): OllamaMessage {
  const images = imagesOf(message.content);
  const spoken = { content: message.text, ...(images.length === 0 ? {} : { images }) };
  if (isToolMessage(message)) {
    const { name, tool_call_id } = message;
    return { role: "tool", ...spoken, ...(name === undefined ? {} : { tool_name: name }), tool_call_id };
  }
  if (isAIMessage(message)) {
    const calls = (message.tool_calls ?? []).map(({ id, name, args }) => ({
      id,
      type: "function",
      function: { name, arguments: args },
    }));
    return { role: "assistant", ...spoken, ...(calls.length === 0 ? {} : { tool_calls: calls }) };
  }
  return { role: message.type === "system" ? "system" : "user", ...spoken };
}

/** A message's images in base64 without a prefix; image URLs are not fetched. */
function imagesOf(content: BaseMessage["content"]): string[] {
  if (typeof content === "string") return [];
  return content.flatMap((part) => {
    const image: unknown = part["image_url"];
    const url: unknown = typeof image === "object" && image !== null && "url" in image ? image.url : image;
    const data = typeof url === "string" ? /^data:[^,]*;base64,(.*)$/su.exec(url)?.[1] : undefined;
    return data === undefined ? [] : [data];
  });
}

/** The quirks use the field name that other vendors have for reasoning. */
function withThinking(message: SentMessage & { reasoning_content?: unknown }): OllamaMessage {
  const { reasoning_content: thinking, ...rest } = message;
  // Created above; the quirks only add reasoning.
  return { ...rest, ...(thinking === undefined ? {} : { thinking }) } as OllamaMessage;
}
