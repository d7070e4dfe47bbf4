import { isAIMessage, isToolMessage, type BaseMessage } from "@langchain/core/messages";
import { vendorRequest, type Asked, type SentMessage } from "../vendors/request.ts";

/** A message as Ollama takes it. */
interface OllamaMessage {
  role: string;
  content: string;
  thinking?: string;
  images?: string[];
  tool_calls?: object[];
  tool_name?: string;
  tool_call_id?: string;
}

/** The body of a chat request, as far as the client writes it otherwise than it should be. */
export interface OllamaRequest {
  messages?: readonly SentMessage[];
  tools?: readonly object[] | undefined;
  format?: unknown;
  think?: unknown;
  options?: { temperature?: number | undefined; num_predict?: number | undefined };
}

/**
 * The request as Ollama should get it, made of `messages` and what the client has written beside them. The client sends
 * no thoughts back, does not say which tool a result is of, and makes an image a message of its own. What is too long
 * is to be refused and not cut: older servers do not know these two fields and cut nevertheless, see `cutPrompt`.
 */
export function ollamaRequest<Request extends OllamaRequest>(
  request: Request,
  messages: readonly BaseMessage[],
  { toolChoice, ...asked }: Asked & { toolChoice?: unknown },
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
    asked,
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
    // The same body with some fields more or otherwise.
  } as unknown as Request;
}

/** A tool's name alone is a choice, as in OpenAI's client. */
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

/** Images of a message, in base64 without a head; one that is only an address is not fetched. */
function imagesOf(content: BaseMessage["content"]): string[] {
  if (typeof content === "string") return [];
  return content.flatMap((part) => {
    const image: unknown = part["image_url"];
    const url: unknown = typeof image === "object" && image !== null && "url" in image ? image.url : image;
    const data = typeof url === "string" ? /^data:[^,]*;base64,(.*)$/su.exec(url)?.[1] : undefined;
    return data === undefined ? [] : [data];
  });
}

/** The quirks speak of thoughts by the name that the other vendors have for them. */
function withThinking(message: SentMessage & { reasoning_content?: unknown }): OllamaMessage {
  const { reasoning_content: thinking, ...rest } = message;
  // Made above; the quirks only add thoughts.
  return { ...rest, ...(thinking === undefined ? {} : { thinking }) } as OllamaMessage;
}
