import { z } from "zod";

/** A scripted tool call. A string in `arguments` is sent as is, even if it is broken JSON. */
export interface ScriptedToolCall {
  name: string;
  arguments: Record<string, unknown> | string;
  /** Default: unique per server. */
  id?: string;
}

/** A fault in a response. `after`: number of pieces (words, calls) still sent. */
export type ModelFault =
  /** Resets the connection before any header. */
  | { kind: "reset" }
  /** Reads the request and never responds. */
  | { kind: "hang" }
  /** Stops sending within the stream; the connection stays open. */
  | { kind: "stall"; after: number }
  /** Closes the connection within the stream. `clean`: with a normal end. */
  | { kind: "cut"; after: number; clean?: boolean }
  /** An error response in the provider's format. `retryAfter` is the header: seconds or a date. */
  | { kind: "status"; status: number; message?: string; code?: string; retryAfter?: string }
  /** An invalid JSON line in the stream (or an invalid JSON body). */
  | { kind: "malformed" };

/** One response of the scripted model. Empty without `text` and `toolCalls`. */
export interface ModelStep {
  text?: string;
  /** Chunks of the text when streamed; default word by word. */
  chunks?: string[];
  reasoning?: string;
  toolCalls?: ScriptedToolCall[];
  /** Tokens; default: the number of words. */
  usage?: { input: number; output: number; cached?: number };
  /** Milliseconds before each piece; 0 (default) sends everything in one write. */
  delayMs?: number;
  /** Pauses before piece `after` until the promise settles, so that a test can act within a stream. */
  hold?: { after: number; until: Promise<unknown> };
  finishReason?: string;
  /** A raw response body, instead of all the above, such as a recorded one. */
  wire?: string;
  fault?: ModelFault;
}

const WireToolCall = z.looseObject({ id: z.string().optional(), function: z.looseObject({ name: z.string() }) });

const WireMessage = z.looseObject({
  role: z.string(),
  content: z.unknown().optional(),
  tool_calls: z.array(WireToolCall).nullish(),
  tool_call_id: z.string().optional(),
});

/** A received message. */
export type WireMessage = z.infer<typeof WireMessage>;

/** The body of a chat request of any protocol. */
export const ChatBody = z.looseObject({
  model: z.string(),
  messages: z.array(WireMessage).min(1),
  stream: z.boolean().optional(),
  stream_options: z.looseObject({ include_usage: z.boolean().optional() }).nullish(),
  /** Vendor tools, such as web search, have other types than `function`. */
  tools: z.array(z.looseObject({ function: z.looseObject({ name: z.string() }).optional() })).nullish(),
});
export type ChatBody = z.infer<typeof ChatBody>;

/** The protocol of a request: OpenAI's chat completions, OpenAI's `/responses`, or Ollama's. */
export type Protocol = "openai" | "responses" | "ollama";

/** A received chat request; those of `/responses` are converted. `index` counts from 0. */
export interface ModelRequest {
  index: number;
  protocol: Protocol;
  path: string;
  headers: Record<string, string | string[] | undefined>;
  body: ChatBody;
  /** The raw body. */
  raw: string;
  messages: WireMessage[];
  toolNames: string[];
}

/** Whether the model may call a tool: tools are offered and `tool_choice` is not `none`. */
export function mayCall({ toolNames, body }: Pick<ModelRequest, "toolNames" | "body">): boolean {
  return toolNames.length > 0 && body["tool_choice"] !== "none";
}

/** The text parts of a message. */
export function wireText(message: WireMessage): string {
  const parts = z.array(z.looseObject({ text: z.string() }).or(z.looseObject({}))).safeParse(message.content);
  if (typeof message.content === "string") return message.content;
  return parts.success ? parts.data.map((part) => ("text" in part ? String(part.text) : "")).join("") : "";
}

/**
 * Why a strict provider would refuse these messages, or `undefined`: each tool call needs exactly one result directly
 * after it, and each result a call.
 */
export function historyProblem(messages: WireMessage[]): string | undefined {
  let open = new Set<string>();
  for (const [index, message] of messages.entries()) {
    if (message.role === "tool") {
      if (!open.delete(message.tool_call_id ?? "")) {
        return `messages[${index}]: a tool message must follow the 'tool_calls' it answers (${message.tool_call_id}).`;
      }
      continue;
    }
    if (open.size > 0) {
      return `messages[${index}]: these tool_call_ids did not have response messages: ${[...open].join(", ")}.`;
    }
    open = new Set(message.tool_calls?.map((call) => call.id ?? ""));
  }
  return open.size === 0 ? undefined : `tool_call_ids without response messages at the end: ${[...open].join(", ")}.`;
}

/** A piece of a response, sent as one streamed line. */
export type ModelPiece =
  | { kind: "reasoning"; text: string }
  | { kind: "text"; text: string }
  | { kind: "call"; index: number; call: ScriptedToolCall & { id: string } };

/** Splits a response into pieces in a provider's order. `mintId` returns unique call ids. */
export function toPieces(step: ModelStep, mintId: () => string): ModelPiece[] {
  const reasoning = step.reasoning?.match(/\s*\S+\s*?/gu) ?? [];
  const text = step.chunks ?? step.text?.match(/\s*\S+|\s+$/gu) ?? [];
  return [
    ...reasoning.map((piece) => ({ kind: "reasoning" as const, text: piece })),
    ...text.map((piece) => ({ kind: "text" as const, text: piece })),
    ...(step.toolCalls ?? []).map((call, index) => ({
      kind: "call" as const,
      index,
      call: { ...call, id: call.id ?? mintId() },
    })),
  ];
}

/** The usage of a response: as scripted, or about one token per word. */
export function usageOf(step: ModelStep, request: ModelRequest): { input: number; output: number; cached?: number } {
  if (step.usage !== undefined) return step.usage;
  const output = toPieces(step, () => "").length;
  return { input: request.messages.length * 8, output };
}

/** The arguments of a call as sent. */
export function argumentText(call: ScriptedToolCall): string {
  return typeof call.arguments === "string" ? call.arguments : JSON.stringify(call.arguments);
}
