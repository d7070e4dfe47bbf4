import { type ModelPiece, type ModelRequest, type ModelStep, argumentText, usageOf } from "./model-server-script.ts";

/** A serialized response: lines for a stream (one per piece, then the end), or one body. */
export interface WireAnswer {
  contentType: string;
  head: string;
  lines: string[];
  tail: string;
  malformed: string;
}

const created = 1_700_000_000;

function finishReason(step: ModelStep): string {
  return step.finishReason ?? (step.toolCalls !== undefined && step.toolCalls.length > 0 ? "tool_calls" : "stop");
}

function usage(step: ModelStep, request: ModelRequest): object {
  const { input, output, cached } = usageOf(step, request);
  return {
    ...(cached === undefined ? {} : { prompt_tokens_details: { cached_tokens: cached } }),
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
  };
}

function delta(piece: ModelPiece): object {
  if (piece.kind === "text") return { content: piece.text };
  if (piece.kind === "reasoning") return { reasoning_content: piece.text };
  const { id, name } = piece.call;
  return {
    tool_calls: [{ index: piece.index, id, type: "function", function: { name, arguments: argumentText(piece.call) } }],
  };
}

/** A streamed chat completion: server-sent events ending with usage (if requested) and `[DONE]`. */
export function openaiStream(id: string, step: ModelStep, pieces: ModelPiece[], request: ModelRequest): WireAnswer {
  const model = JSON.stringify(request.body.model);
  const start = `data: {"id":"${id}","object":"chat.completion.chunk","created":${created},"model":${model},`;
  const choice = (change: object, reason: string | null): string =>
    `${start}"choices":[{"index":0,"delta":${JSON.stringify(change)},"finish_reason":${JSON.stringify(reason)}}]}\n\n`;
  const withUsage = request.body.stream_options?.include_usage === true;
  const usageLine = withUsage ? `${start}"choices":[],"usage":${JSON.stringify(usage(step, request))}}\n\n` : "";
  return {
    contentType: "text/event-stream; charset=utf-8",
    head: choice({ role: "assistant", content: "" }, null),
    lines: pieces.map((piece) => choice(delta(piece), null)),
    tail: `${choice({}, finishReason(step))}${usageLine}data: [DONE]\n\n`,
    malformed: `${start}"choices":[{"index":0,"delta":{"content":"ha\n\n`,
  };
}

/** A chat completion as one JSON body. */
export function openaiBody(id: string, step: ModelStep, pieces: ModelPiece[], request: ModelRequest): WireAnswer {
  const calls = pieces.flatMap((piece) =>
    piece.kind === "call"
      ? [
          {
            id: piece.call.id,
            type: "function",
            function: { name: piece.call.name, arguments: argumentText(piece.call) },
          },
        ]
      : [],
  );
  const message = {
    role: "assistant",
    content: step.text ?? step.chunks?.join("") ?? null,
    ...(step.reasoning === undefined ? {} : { reasoning_content: step.reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
  const body = {
    id,
    object: "chat.completion",
    created,
    model: request.body.model,
    choices: [{ index: 0, message, finish_reason: finishReason(step) }],
    usage: usage(step, request),
  };
  return {
    contentType: "application/json",
    head: "",
    lines: [],
    tail: JSON.stringify(body),
    malformed: JSON.stringify(body).slice(0, 40),
  };
}

/** An error body in OpenAI's format. */
export function openaiError(message: string, code: string | undefined): string {
  return JSON.stringify({ error: { message, type: code ?? "error", param: null, code: code ?? null } });
}
