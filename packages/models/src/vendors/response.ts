import { AIMessage, AIMessageChunk, isAIMessage, isAIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatGeneration } from "@langchain/core/outputs";
import { z } from "zod";

const OptionalText = z.string().optional().catch(undefined);
const Blocks = z.array(z.looseObject({ text: OptionalText, reasoning: OptionalText }));
const Metadata = z.looseObject({
  model_name: z.string().optional().catch(undefined),
  status: z.string().optional().catch(undefined),
  incomplete_details: z.looseObject({ reason: z.string() }).nullish().catch(undefined),
});

/** The failure in an event or answer of OpenAI's `/responses`. */
const Failed = z.looseObject({
  error: z.looseObject({ code: z.string().nullish(), message: z.string().nullish() }).nullish(),
  status: z.literal("failed"),
});
const FailedEvent = z.looseObject({ type: z.literal("response.failed"), response: Failed });
const Whole = z.looseObject({ output: z.array(z.looseObject({ type: z.string() })) });

/** Transient error codes of a failed answer; all others concern the request. */
const statuses = new Map([
  ["server_error", 500],
  ["vector_store_timeout", 500],
  ["rate_limit_exceeded", 429],
]);

/** Returns an event. Throws an error for `toModelError` if it reports a failure. */
export function readEvent<T>(event: T): T {
  const read = FailedEvent.safeParse(event);
  if (read.success) throw failure(read.data.response);
  return event;
}

/** Returns a complete answer. Throws an error for `toModelError` if it failed or is invalid. */
export function readWhole<T>(answer: T): T {
  const failed = Failed.safeParse(answer);
  if (failed.success) throw failure(failed.data);
  if (!Whole.safeParse(answer).success) throw new Error("The answer is malformed: it has no output.");
  return answer;
}

function failure({ error }: z.infer<typeof Failed>): Error {
  const code = error?.code ?? "server_error";
  return Object.assign(new Error(error?.message ?? "The answer failed."), { code, status: statuses.get(code) ?? 400 });
}

/**
 * Converts a chunk of `/responses` to the form of chat completions: text, `reasoning_content`, a finish reason and one
 * id. Drops the client's copy of the whole answer, which would otherwise be sent to the model instead of the session's
 * content.
 */
export function plainPiece(chunk: ChatGenerationChunk, id: string | undefined): ChatGenerationChunk {
  const { message } = chunk;
  const { text, thoughts } = partsIn(message);
  const isChunk = isAIMessageChunk(message);
  const plain = new AIMessageChunk({
    ...(id === undefined ? {} : { id }),
    content: text,
    additional_kwargs: thoughts === "" ? {} : { reasoning_content: thoughts },
    response_metadata: endOf(message, isChunk && message.usage_metadata === undefined),
    ...(isChunk && message.tool_call_chunks !== undefined ? { tool_call_chunks: message.tool_call_chunks } : {}),
    ...(isChunk && message.usage_metadata !== undefined ? { usage_metadata: message.usage_metadata } : {}),
  });
  return new ChatGenerationChunk({ text, message: plain });
}

/** `plainPiece` for an unstreamed answer. */
export function plainWhole(generation: ChatGeneration): ChatGeneration {
  const { message } = generation;
  const { text, thoughts } = partsIn(message);
  if (!isAIMessage(message)) return generation;
  const { id, tool_calls = [], invalid_tool_calls = [], usage_metadata } = message;
  const plain = new AIMessage({
    ...(id === undefined ? {} : { id }),
    content: text,
    additional_kwargs: thoughts === "" ? {} : { reasoning_content: thoughts },
    response_metadata: endOf(message, true),
    tool_calls,
    invalid_tool_calls,
  });
  // Under exactOptionalPropertyTypes the field's own type includes `undefined`, which the constructor rejects.
  return { text, message: usage_metadata === undefined ? plain : Object.assign(plain, { usage_metadata }) };
}

/** A refusal is an answer, too. */
function partsIn({ content, additional_kwargs }: BaseMessage): { text: string; thoughts: string } {
  const refusal: unknown = additional_kwargs["refusal"];
  const refused = typeof refusal === "string" ? refusal : "";
  if (typeof content === "string") return { text: content + refused, thoughts: "" };
  const blocks = Blocks.parse(content);
  const all = (field: "text" | "reasoning"): string => blocks.map((block) => block[field] ?? "").join("");
  return { text: all("text") + refused, thoughts: all("reasoning") };
}

/** Texts of chunks are concatenated, so each is sent once: the model first, the reason last. */
function endOf({ response_metadata }: BaseMessage, withModel: boolean): Record<string, unknown> {
  const { model_name, status, incomplete_details } = Metadata.parse(response_metadata);
  const reason = incomplete_details?.reason === "max_output_tokens" ? "length" : incomplete_details?.reason;
  return {
    ...(withModel && model_name !== undefined ? { model_name } : {}),
    ...(status === "completed" || status === "incomplete" ? { finish_reason: reason ?? "stop" } : {}),
  };
}
