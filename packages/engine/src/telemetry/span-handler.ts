import { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import type { LLMResult } from "@langchain/core/outputs";
import { isGraphBubbleUp } from "@langchain/langgraph";
import {
  type Attributes,
  type Context,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from "@opentelemetry/api";
import { z } from "zod";
import { isAppError } from "../errors/errors.ts";
import { toolOfSpan } from "../tracing.ts";

/** A LangChain run and its ancestors; `span` if it has one of its own. */
interface Known {
  span?: Span;
  context: Context;
  isTool?: boolean;
}

/** The model of a call, as LangChain reports it. */
const ModelOrigin = z.object({
  ls_provider: z.string().optional().catch(undefined),
  ls_model_name: z.string().optional().catch(undefined),
  ls_temperature: z.number().optional().catch(undefined),
  ls_max_tokens: z.number().optional().catch(undefined),
});

/** The counted fields of an answer; others are ignored. */
const Answer = z.object({
  id: z.string().optional().catch(undefined),
  usage_metadata: z
    .object({
      input_tokens: z.number(),
      output_tokens: z.number(),
      input_token_details: z.object({ cache_read: z.number().optional() }).optional().catch(undefined),
    })
    .optional()
    .catch(undefined),
  response_metadata: z
    .object({
      model_name: z.string().optional().catch(undefined),
      model: z.string().optional().catch(undefined),
      finish_reason: z.string().optional().catch(undefined),
    })
    .optional()
    .catch(undefined),
});

/** The failure in a tool's result: a `ToolMessage`, or a result of the agent's own tools. */
const ToolOutcome = z.object({
  status: z.string().optional().catch(undefined),
  success: z.boolean().optional().catch(undefined),
  errorType: z.string().optional().catch(undefined),
});

/** OpenTelemetry's names for providers that LangChain names differently. */
const providerNames: Readonly<Record<string, string>> = {
  amazon_bedrock: "aws.bedrock",
  azure: "azure.ai.openai",
  bedrock: "aws.bedrock",
  google_genai: "gcp.gemini",
  google_vertexai: "gcp.vertex_ai",
  mistral: "mistral_ai",
  xai: "x_ai",
};

/** The arguments of a handler's callback. The parent run of a chain precedes the tags, whatever the types say. */
type CallbackArguments<
  Point extends "handleChainStart" | "handleChatModelStart" | "handleLLMStart" | "handleToolStart",
> = Parameters<NonNullable<BaseCallbackHandler[Point]>>;

/**
 * Creates a span per node, model call and tool call of one run, by OpenTelemetry's conventions for generative AI.
 * Content from people, models or tools is never included.
 */
export class SpanHandler extends BaseCallbackHandler {
  readonly name = "opentelemetry";
  readonly #tracer: Tracer;
  readonly #root: Context;
  readonly #known = new Map<string, Known>();

  constructor(tracer: Tracer, root: Context) {
    super();
    this.#tracer = tracer;
    this.#root = root;
    // Background callbacks would give spans the wrong times. The work here is short.
    this.awaitHandlers = true;
  }

  /** Ends all open spans. */
  endAll(): void {
    for (const { span } of this.#known.values()) span?.end();
    this.#known.clear();
  }

  override handleChainStart(...callbackArguments: CallbackArguments<"handleChainStart">): void {
    const [, , runId, parentRunId, tags = [], metadata = {}, , name = ""] = callbackArguments;
    const call = toolOfSpan(name, metadata);
    if (call !== undefined) return this.#beginTool(runId, parentRunId, call.tool, call.callId);
    const { langgraph_node: node, langgraph_step: step } = metadata;
    const isNode = name === node && tags.some((tag) => tag.startsWith("graph:step:"));
    if (!isNode || tags.includes("langsmith:hidden")) {
      this.#known.set(runId, { context: this.#around(parentRunId) });
      return;
    }
    const attributes = { "langgraph.node": name, ...(typeof step === "number" && { "langgraph.step": step }) };
    this.#begin(runId, parentRunId, `node ${name}`, SpanKind.INTERNAL, attributes);
  }

  override handleChainEnd(outputs: unknown, runId: string): void {
    this.#end(runId, this.#known.get(runId)?.isTool === true ? failureIn(outputs) : undefined);
  }

  override handleChainError(error: unknown, runId: string): void {
    this.#broke(runId, error);
  }

  override handleChatModelStart(...callbackArguments: CallbackArguments<"handleChatModelStart">): void {
    const [, , runId, parentRunId, , , metadata = {}] = callbackArguments;
    this.#beginModel("chat", runId, parentRunId, metadata);
  }

  override handleLLMStart(...callbackArguments: CallbackArguments<"handleLLMStart">): void {
    const [, , runId, parentRunId, , , metadata = {}] = callbackArguments;
    this.#beginModel("text_completion", runId, parentRunId, metadata);
  }

  override handleLLMEnd({ generations }: LLMResult, runId: string): void {
    const first = generations[0]?.[0];
    const message = first !== undefined && "message" in first ? first.message : undefined;
    const answer = Answer.safeParse(message).data;
    if (answer !== undefined) this.#known.get(runId)?.span?.setAttributes(answerAttributes(answer));
    this.#end(runId);
  }

  override handleLLMError(error: unknown, runId: string): void {
    this.#broke(runId, error);
  }

  override handleToolStart(...callbackArguments: CallbackArguments<"handleToolStart">): void {
    const [, , runId, parentRunId, , , name = "tool", callId] = callbackArguments;
    this.#beginTool(runId, parentRunId, name, callId);
  }

  override handleToolEnd(output: unknown, runId: string): void {
    this.#end(runId, failureIn(output));
  }

  override handleToolError(error: unknown, runId: string): void {
    this.#broke(runId, error);
  }

  #around(parentRunId: string | undefined): Context {
    return (parentRunId === undefined ? undefined : this.#known.get(parentRunId)?.context) ?? this.#root;
  }

  #begin(runId: string, parentRunId: string | undefined, name: string, kind: SpanKind, attributes: Attributes): Known {
    const around = this.#around(parentRunId);
    const span = this.#tracer.startSpan(name, { kind, attributes }, around);
    const known: Known = { span, context: trace.setSpan(around, span) };
    this.#known.set(runId, known);
    return known;
  }

  #beginModel(
    operation: "chat" | "text_completion",
    runId: string,
    parentRunId: string | undefined,
    metadata: Record<string, unknown>,
  ): void {
    const origin = ModelOrigin.parse(metadata);
    const { ls_provider: provider = "unknown", ls_model_name: model } = origin;
    this.#begin(runId, parentRunId, model === undefined ? operation : `${operation} ${model}`, SpanKind.CLIENT, {
      "gen_ai.operation.name": operation,
      "gen_ai.provider.name": providerNames[provider] ?? provider,
      ...(model !== undefined && { "gen_ai.request.model": model }),
      ...(origin.ls_temperature !== undefined && { "gen_ai.request.temperature": origin.ls_temperature }),
      ...(origin.ls_max_tokens !== undefined && { "gen_ai.request.max_tokens": origin.ls_max_tokens }),
    });
  }

  #beginTool(runId: string, parentRunId: string | undefined, tool: string, callId?: string): void {
    const known = this.#begin(runId, parentRunId, `execute_tool ${tool}`, SpanKind.INTERNAL, {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": tool,
      "gen_ai.tool.type": "function",
      ...(callId !== undefined && { "gen_ai.tool.call.id": callId }),
    });
    known.isTool = true;
  }

  #end(runId: string, failure?: string): void {
    const span = this.#known.get(runId)?.span;
    this.#known.delete(runId);
    if (failure !== undefined && span !== undefined) fail(span, failure);
    span?.end();
  }

  /** A question to a person and a cancelled call are not failures. */
  #broke(runId: string, error: unknown): void {
    const kind = isGraphBubbleUp(error) ? undefined : kindOf(error);
    this.#end(runId, kind === "cancelled" || kind === "AbortError" ? undefined : kind);
  }
}

function answerAttributes({ id, usage_metadata: usage, response_metadata: response }: z.infer<typeof Answer>) {
  const model = response?.model_name ?? response?.model;
  const cached = usage?.input_token_details?.cache_read;
  return {
    ...(id !== undefined && { "gen_ai.response.id": id }),
    ...(model !== undefined && { "gen_ai.response.model": model }),
    ...(response?.finish_reason !== undefined && { "gen_ai.response.finish_reasons": [response.finish_reason] }),
    ...(usage !== undefined && {
      "gen_ai.usage.input_tokens": usage.input_tokens,
      "gen_ai.usage.output_tokens": usage.output_tokens,
    }),
    ...(cached !== undefined && { "gen_ai.usage.cache_read.input_tokens": cached }),
  } satisfies Attributes;
}

function failureIn(output: unknown): string | undefined {
  const outcome = ToolOutcome.safeParse(output).data;
  return outcome?.success === false || outcome?.status === "error" ? (outcome.errorType ?? "tool_error") : undefined;
}

/** The kind only: a message may contain user content. */
function kindOf(error: unknown): string {
  if (isAppError(error)) return error.code;
  return error instanceof Error ? error.name : "Error";
}

/** Marks a span as failed. */
export function fail(span: Span, kind: string): void {
  span.setStatus({ code: SpanStatusCode.ERROR });
  span.setAttribute("error.type", kind);
}
