import { z } from "zod";
import { AppError } from "@millrace/engine/errors/errors";
import { callPlaces, type CallPlace } from "./call-places.ts";
import type { Quirks } from "./quirks.ts";

const Count = z.number().nullish();
const Usage = z.looseObject({
  prompt_tokens: Count,
  completion_tokens: Count,
  total_tokens: Count,
  prompt_tokens_details: z.looseObject({ cached_tokens: Count }).nullish(),
  prompt_cache_hit_tokens: Count,
});

const Call = z.looseObject({
  index: z.number().nullish(),
  id: z.string().nullish(),
  function: z.looseObject({ name: z.string().nullish(), arguments: z.unknown().optional() }).nullish(),
});

const Words = z.looseObject({ text: z.string().optional() });
/** Text in parts that may include reasoning, as Mistral sends it. */
const Part = z.looseObject({
  text: z.string().optional(),
  thinking: z.union([z.string(), z.array(Words)]).optional(),
});

const MessageBody = z.looseObject({
  content: z.union([z.string(), z.array(Part)]).nullish(),
  reasoning_content: z.string().nullish(),
  reasoning: z.unknown().optional(),
  tool_calls: z.array(Call).nullish(),
});
type MessageBody = z.infer<typeof MessageBody>;

/** The fields of an answer or chunk in which vendors differ. */
const Answer = z.looseObject({
  choices: z
    .array(
      z.looseObject({
        delta: MessageBody.nullish(),
        message: MessageBody.nullish(),
        finish_reason: z.string().nullish(),
      }),
    )
    .nullish(),
  usage: Usage.nullish(),
});

/**
 * Converts an answer or chunk to OpenAI's format: reasoning under one name, cached tokens in one place, no empty ids,
 * an index per call; `placeOf` is the same for all chunks of an answer. Unexpected forms are left to the client. Throws
 * `network` for an aborted answer.
 */
export function normalizeAnswer<T>(answer: T, { brokenEnds }: Quirks, placeOf: CallPlace = callPlaces()): T {
  if (isPlain(answer, brokenEnds)) return answer;
  const read = Answer.safeParse(answer);
  if (!read.success) return answer;
  const { choices, usage, ...rest } = read.data;
  const plain = {
    ...rest,
    ...(choices === undefined || choices === null
      ? {}
      : { choices: choices.map((choice) => plainChoice(choice, brokenEnds, placeOf)) }),
    ...(usage === undefined || usage === null ? {} : { usage: plainUsage(usage) }),
  };
  // The same fields with the same meaning; the client knows more of them.
  return plain as T;
}

const Failed = z.looseObject({
  error: z.union([
    z.string().transform((message) => ({ message, code: undefined })),
    z.looseObject({ message: z.string(), code: z.unknown().optional() }),
  ]),
});

/**
 * Returns an unstreamed answer. Throws an error for `toModelError` if it contains none: some gateways report failures
 * with 200.
 */
export function requireAnswer<T>(answer: T): T {
  if (isRecord(answer) && Array.isArray(answer["choices"]) && answer["choices"].length > 0) return answer;
  const failed = Failed.safeParse(answer).data?.error;
  if (failed === undefined) throw new Error("The answer is malformed: it has no choices.");
  throw Object.assign(new Error(failed.message), { code: failed.code });
}

/** Fields of a text chunk, which all vendors send alike. */
const wordFields = new Set(["role", "content", "refusal"]);

/** Fast path: whether a chunk is only text, a finish or usage in OpenAI's format, as nearly all are. */
function isPlain(answer: unknown, brokenEnds: readonly string[]): boolean {
  if (!isRecord(answer) || !isPlainUsage(answer["usage"] ?? null)) return false;
  const { choices } = answer;
  if (!Array.isArray(choices) || choices.length > 1) return false;
  const choice: unknown = choices[0];
  if (choice === undefined) return true;
  if (!isRecord(choice) || (choice["message"] ?? null) !== null) return false;
  const { delta, finish_reason: end = null } = choice;
  if (end !== null && (typeof end !== "string" || end === "" || brokenEnds.includes(end))) return false;
  return (
    isRecord(delta) &&
    (typeof delta["content"] === "string" || end !== null) &&
    Object.keys(delta).every((key) => wordFields.has(key))
  );
}

/** Whether usage is absent, or complete and in OpenAI's format. */
function isPlainUsage(usage: unknown): boolean {
  if (usage === null) return true;
  if (!isRecord(usage) || "prompt_cache_hit_tokens" in usage) return false;
  const { prompt_tokens_details: details } = usage;
  if (details !== undefined && !(isRecord(details) && Number.isFinite(details["cached_tokens"]))) return false;
  return [usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]].every(Number.isFinite);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

type Choice = NonNullable<z.infer<typeof Answer>["choices"]>[number];

function plainChoice(
  { delta, message, finish_reason, ...rest }: Choice,
  brokenEnds: readonly string[],
  placeOf: CallPlace,
): object {
  if (typeof finish_reason === "string" && brokenEnds.includes(finish_reason)) throw brokenOff(finish_reason);
  return {
    ...rest,
    ...(delta === undefined || delta === null ? {} : { delta: plainMessage(delta, placeOf) }),
    ...(message === undefined || message === null ? {} : { message: plainMessage(message, placeOf) }),
    // An empty reason means that the answer continues.
    finish_reason: finish_reason === "" ? null : finish_reason,
  };
}

function plainMessage(
  { content, reasoning_content, reasoning, tool_calls, ...rest }: MessageBody,
  placeOf: CallPlace,
): object {
  const parts = Array.isArray(content) ? content : [];
  const thoughts = reasoning_content ?? (typeof reasoning === "string" ? reasoning : thoughtsIn(parts));
  const calls = (tool_calls ?? []).map((call, index) => plainCall(call, index, placeOf));
  return {
    ...rest,
    content: Array.isArray(content) ? textOf(parts) : content,
    ...(thoughts === "" ? {} : { reasoning_content: thoughts }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

function textOf(parts: readonly z.infer<typeof Words>[]): string {
  return parts.map(({ text = "" }) => text).join("");
}

function thoughtsIn(parts: readonly z.infer<typeof Part>[]): string {
  return parts.map(({ thinking = "" }) => (typeof thinking === "string" ? thinking : textOf(thinking))).join("");
}

/** Later chunks of a call have no name or id; empty ones would be taken for real. Arguments are text. */
function plainCall(
  { index, id, function: called, ...rest }: z.infer<typeof Call>,
  usual: number,
  placeOf: CallPlace,
): object {
  const { name, arguments: written, ...more } = called ?? {};
  const own = id === null || id === "" ? undefined : id;
  return {
    ...rest,
    index: placeOf(index ?? usual, own),
    ...(own === undefined ? {} : { id: own }),
    function: {
      ...more,
      ...(name === undefined || name === null || name === "" ? {} : { name }),
      ...(written === undefined || written === null
        ? {}
        : { arguments: typeof written === "string" ? written : JSON.stringify(written) }),
    },
  };
}

function plainUsage({ prompt_cache_hit_tokens, prompt_tokens_details, ...usage }: z.infer<typeof Usage>): object {
  const input = usage.prompt_tokens ?? 0;
  const output = usage.completion_tokens ?? 0;
  const cached = prompt_tokens_details?.cached_tokens ?? prompt_cache_hit_tokens;
  return {
    ...usage,
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: usage.total_tokens ?? input + output,
    ...(cached === undefined || cached === null
      ? { prompt_tokens_details: prompt_tokens_details ?? undefined }
      : { prompt_tokens_details: { ...prompt_tokens_details, cached_tokens: cached } }),
  };
}

function brokenOff(reason: string): AppError {
  return new AppError("network", `The vendor broke the answer off (${reason}).`, {
    suggestion: "Try again in a moment, or choose another model.",
    recoverable: true,
  });
}
