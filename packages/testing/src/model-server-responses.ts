import { z } from "zod";
import type { WireAnswer } from "./model-server-openai.ts";
import {
  ChatBody,
  argumentText,
  usageOf,
  type ModelPiece,
  type ModelRequest,
  type ModelStep,
  type WireMessage,
} from "./model-server-script.ts";

const Item = z.looseObject({ type: z.string().default("message") });
const Message = z.looseObject({ role: z.string(), content: z.unknown() });
const Call = z.looseObject({ call_id: z.string(), name: z.string(), arguments: z.string() });
/** A reasoning item; stateless vendors accept only encrypted ones. */
const Thought = z.looseObject({ encrypted_content: z.string().min(1), summary: z.array(z.unknown()) });
const Result = z.looseObject({ call_id: z.string(), output: z.unknown() });
const Body = z.looseObject({
  input: z.array(Item).min(1),
  tools: z.array(z.looseObject({ name: z.string() })).nullish(),
});

/** Converts a body of OpenAI's `/responses` to a chat request; `undefined` if it is invalid. */
export function chatBodyOf(body: unknown): ChatBody | undefined {
  const read = Body.safeParse(body);
  if (!read.success) return undefined;
  const { input, tools, ...rest } = read.data;
  const chat = {
    ...rest,
    messages: messagesOf(input),
    tools: tools?.map(({ name, ...tool }) => ({ ...tool, function: { name } })),
  };
  return ChatBody.safeParse(chat).data;
}

/** Consecutive calls belong to one message. Reasoning precedes its message. */
function messagesOf(input: z.infer<typeof Item>[]): WireMessage[] {
  const messages: WireMessage[] = [];
  for (const [index, item] of input.entries()) {
    if (item.type === "reasoning") {
      Thought.parse(item);
      const next = input.slice(index + 1).find(({ type }) => type !== "reasoning");
      if (next?.type !== "function_call" && next?.["role"] !== "assistant") throw new Error("a thought before nothing");
    } else if (item.type === "function_call_output") {
      const { call_id, output } = Result.parse(item);
      messages.push({ role: "tool", content: output, tool_call_id: call_id });
    } else if (item.type === "function_call") {
      const { call_id, name, arguments: text } = Call.parse(item);
      const last = messages.at(-1);
      const asking = last?.role === "assistant" ? last : { role: "assistant", content: "" };
      if (asking !== last) messages.push(asking);
      asking.tool_calls = [...(asking.tool_calls ?? []), { id: call_id, function: { name, arguments: text } }];
    } else {
      const { role, content } = Message.parse(item);
      messages.push({ role, content });
    }
  }
  return messages;
}

function event(type: string, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}

function line(piece: ModelPiece, at: number): string {
  if (piece.kind === "text") return event("response.output_text.delta", { content_index: 0, delta: piece.text });
  if (piece.kind === "reasoning") {
    return event("response.reasoning_summary_text.delta", { summary_index: 0, delta: piece.text });
  }
  const place = { output_index: at };
  return (
    event("response.output_item.added", { ...place, item: { ...callItem(piece), arguments: "" } }) +
    event("response.function_call_arguments.delta", { ...place, delta: argumentText(piece.call) }) +
    event("response.output_item.done", { ...place, item: callItem(piece) })
  );
}

function callItem({ call }: ModelPiece & { kind: "call" }): object {
  return {
    type: "function_call",
    id: `fc_${call.id}`,
    call_id: call.id,
    name: call.name,
    arguments: argumentText(call),
  };
}

function output(step: ModelStep, pieces: ModelPiece[]): object[] {
  const text = step.text ?? step.chunks?.join("");
  const summary = [{ type: "summary_text", text: step.reasoning }];
  const content = [{ type: "output_text", text, annotations: [] }];
  return [
    ...(step.reasoning === undefined ? [] : [{ type: "reasoning", id: "rs_1", summary }]),
    ...(text === undefined ? [] : [{ type: "message", id: "msg_1", role: "assistant", content }]),
    ...pieces.flatMap((piece) => (piece.kind === "call" ? [callItem(piece)] : [])),
  ];
}

function whole(id: string, step: ModelStep, pieces: ModelPiece[], request: ModelRequest): object {
  const { input, output: out, cached = 0 } = usageOf(step, request);
  const isCut = step.finishReason === "length";
  return {
    id,
    object: "response",
    created_at: 1_700_000_000,
    model: request.body.model,
    status: isCut ? "incomplete" : "completed",
    incomplete_details: isCut ? { reason: "max_output_tokens" } : null,
    error: null,
    output: output(step, pieces),
    usage: {
      input_tokens: input,
      input_tokens_details: { cached_tokens: cached },
      output_tokens: out,
      total_tokens: input + out,
    },
  };
}

/** A streamed response of `/responses`: events that end with the complete response. */
export function responsesStream(id: string, step: ModelStep, pieces: ModelPiece[], request: ModelRequest): WireAnswer {
  const response = whole(id, step, pieces, request);
  const created = { ...response, status: "in_progress", output: [], usage: null };
  return {
    contentType: "text/event-stream; charset=utf-8",
    head: event("response.created", { response: created }),
    lines: pieces.map((piece, at) => line(piece, at)),
    tail: event(step.finishReason === "length" ? "response.incomplete" : "response.completed", { response }),
    malformed: 'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","delta":"ha\n\n',
  };
}

/** A response of `/responses` as one JSON body. */
export function responsesBody(id: string, step: ModelStep, pieces: ModelPiece[], request: ModelRequest): WireAnswer {
  const tail = JSON.stringify(whole(id, step, pieces, request));
  return { contentType: "application/json", head: "", lines: [], tail, malformed: tail.slice(0, 40) };
}
