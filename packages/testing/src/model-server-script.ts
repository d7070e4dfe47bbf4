import { z } from "zod";

/** A tool call of the scripted model. A string in `arguments` is sent as it is, also when it is broken JSON. */
export interface ScriptedToolCall {
  name: string;
  arguments: Record<string, unknown> | string;
  /** Default: unique in the server. */
  id?: string;
}

/** What goes wrong with an answer. `after` counts the pieces (words, calls) that are still sent. */
export type ModelFault =
  /** The connection is reset before any header. */
  | { kind: "reset" }
  /** The request is read and never answered. */
  | { kind: "hang" }
  /** Silence in the middle of the stream; the connection stays open. */
  | { kind: "stall"; after: number }
  /** The connection breaks in the middle of the stream. `clean`: it ends as if all were said. */
  | { kind: "cut"; after: number; clean?: boolean }
  /** An error answer, in the form of the provider. `retryAfter` is the header, seconds or a date. */
  | { kind: "status"; status: number; message?: string; code?: string; retryAfter?: string }
  /** A line in the stream (or the whole JSON body) that is not JSON. */
  | { kind: "malformed" };

/** One answer of the scripted model. Without `text` and `toolCalls` the answer is empty. */
export interface ModelStep {
  text?: string;
  /** How the text is cut when streamed; default: word by word. */
  chunks?: string[];
  reasoning?: string;
  toolCalls?: ScriptedToolCall[];
  /** Tokens; default: a count of words. */
  usage?: { input: number; output: number; cached?: number };
  /** Milliseconds before each piece; 0 (default) sends everything in one write. */
  delayMs?: number;
  /** Stops before piece `after` until the promise settles: lets a test act in the middle of a stream. */
  hold?: { after: number; until: Promise<unknown> };
  finishReason?: string;
  /** Bytes that are answered as they are, instead of all the above: what a vendor has sent. */
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

/** A message as the client sent it. */
export type WireMessage = z.infer<typeof WireMessage>;

/** The body of a chat request, of either protocol. */
export const ChatBody = z.looseObject({
  model: z.string(),
  messages: z.array(WireMessage).min(1),
  stream: z.boolean().optional(),
  stream_options: z.looseObject({ include_usage: z.boolean().optional() }).nullish(),
  /** A vendor's own tool, such as web search, has another type than `function`. */
  tools: z.array(z.looseObject({ function: z.looseObject({ name: z.string() }).optional() })).nullish(),
});
export type ChatBody = z.infer<typeof ChatBody>;

/** What a server is asked in: OpenAI's chat completions, its `/responses`, or Ollama's own. */
export type Protocol = "openai" | "responses" | "ollama";

/** A chat request as it was received, that of `/responses` in the form of the others. `index` counts from 0. */
export interface ModelRequest {
  index: number;
  protocol: Protocol;
  path: string;
  headers: Record<string, string | string[] | undefined>;
  body: ChatBody;
  /** The body as it came. */
  raw: string;
  messages: WireMessage[];
  toolNames: string[];
}

/** Whether the model may call a tool: some are offered, and `tool_choice` is not `none`. */
export function mayCall({ toolNames, body }: Pick<ModelRequest, "toolNames" | "body">): boolean {
  return toolNames.length > 0 && body["tool_choice"] !== "none";
}

/** The text of a message; parts that are not text are left out. */
export function wireText(message: WireMessage): string {
  const parts = z.array(z.looseObject({ text: z.string() }).or(z.looseObject({}))).safeParse(message.content);
  if (typeof message.content === "string") return message.content;
  return parts.success ? parts.data.map((part) => ("text" in part ? String(part.text) : "")).join("") : "";
}

/**
 * What a strict provider would say against this list of messages, or `undefined`: every tool call
 * has exactly one result, right after it, and no result is without a call.
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

/** A piece of an answer on its way: what one streamed line carries. */
export type ModelPiece =
  | { kind: "reasoning"; text: string }
  | { kind: "text"; text: string }
  | { kind: "call"; index: number; call: ScriptedToolCall & { id: string } };

/** The pieces of an answer in the order a provider sends them. `mintId` gives unique call ids. */
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

/** The tokens of an answer: as scripted, or about one a word. */
export function usageOf(step: ModelStep, request: ModelRequest): { input: number; output: number; cached?: number } {
  if (step.usage !== undefined) return step.usage;
  const output = toPieces(step, () => "").length;
  return { input: request.messages.length * 8, output };
}

/** The arguments of a call as the text that goes over the wire. */
export function argumentText(call: ScriptedToolCall): string {
  return typeof call.arguments === "string" ? call.arguments : JSON.stringify(call.arguments);
}
