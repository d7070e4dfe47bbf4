import type { WireAnswer } from "./model-server-openai.ts";
import {
  type ModelPiece,
  type ModelRequest,
  type ModelStep,
  type ScriptedToolCall,
  usageOf,
} from "./model-server-script.ts";

const createdAt = "2026-01-01T00:00:00.000Z";

/** Ollama sends arguments as an object; a scripted string is sent as is, to simulate a broken call. */
function wireCall(call: ScriptedToolCall): object {
  return { function: { name: call.name, arguments: call.arguments } };
}

function message(piece: ModelPiece): object {
  if (piece.kind === "text") return { role: "assistant", content: piece.text };
  if (piece.kind === "reasoning") return { role: "assistant", content: "", thinking: piece.text };
  return { role: "assistant", content: "", tool_calls: [wireCall(piece.call)] };
}

function ending(step: ModelStep, request: ModelRequest): object {
  const { input, output } = usageOf(step, request);
  return {
    done: true,
    done_reason: step.finishReason ?? "stop",
    total_duration: 1000,
    prompt_eval_count: input,
    eval_count: output,
  };
}

/** A streamed chat response: one JSON object per line; the last has `done`. */
export function ollamaStream(step: ModelStep, pieces: ModelPiece[], request: ModelRequest): WireAnswer {
  const base = { model: request.body.model, created_at: createdAt };
  const last = { ...base, message: { role: "assistant", content: "" }, ...ending(step, request) };
  return {
    contentType: "application/x-ndjson",
    head: "",
    lines: pieces.map((piece) => `${JSON.stringify({ ...base, message: message(piece), done: false })}\n`),
    tail: `${JSON.stringify(last)}\n`,
    malformed: '{"model":"x","message":{"role":"assis\n',
  };
}

/** A chat response as one JSON body. */
export function ollamaBody(step: ModelStep, pieces: ModelPiece[], request: ModelRequest): WireAnswer {
  const calls = pieces.flatMap((piece) => (piece.kind === "call" ? [wireCall(piece.call)] : []));
  const body = {
    model: request.body.model,
    created_at: createdAt,
    message: {
      role: "assistant",
      content: step.text ?? step.chunks?.join("") ?? "",
      ...(step.reasoning === undefined ? {} : { thinking: step.reasoning }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    },
    ...ending(step, request),
  };
  const text = JSON.stringify(body);
  return { contentType: "application/json", head: "", lines: [], tail: text, malformed: text.slice(0, 40) };
}

/** An error body in Ollama's format. */
export function ollamaError(text: string): string {
  return JSON.stringify({ error: text });
}
