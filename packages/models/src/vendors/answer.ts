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
/** Words in parts, with thoughts among them, as Mistral has them. */
const Part = z.looseObject({
  text: z.string().optional(),
  thinking: z.union([z.string(), z.array(Words)]).optional(),
});

const Said = z.looseObject({
  content: z.union([z.string(), z.array(Part)]).nullish(),
  reasoning_content: z.string().nullish(),
  reasoning: z.unknown().optional(),
  tool_calls: z.array(Call).nullish(),
});
type Said = z.infer<typeof Said>;

/** An answer, or a piece of one, as far as vendors differ about it. */
const Answer = z.looseObject({
  choices: z
    .array(
      z.looseObject({
        delta: Said.nullish(),
        message: Said.nullish(),
        finish_reason: z.string().nullish(),
      }),
    )
    .nullish(),
  usage: Usage.nullish(),
});

/**
 * An answer, or a piece of a streamed one, in the words of OpenAI: reasoning by one name, cached tokens in one place,
 * no empty ids, each call in a place of its own: `placeOf` is the same for all pieces of an answer. What has none of
 * the expected form is left to the client. Throws `network` for an answer that broke off.
 */
export function plainAnswer<T>(answer: T, { brokenEnds }: Quirks, placeOf: CallPlace = callPlaces()): T {
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
  // The same fields with the same meaning, of which the client knows more than is read here.
  return plain as T;
}

const Failed = z.looseObject({
  error: z.union([
    z.string().transform((message) => ({ message, code: undefined })),
    z.looseObject({ message: z.string(), code: z.unknown().optional() }),
  ]),
});

/**
 * An answer in one piece, as it is. Throws what `toModelError` reads where it holds none: some gateways say with 200
 * that they have failed.
 */
export function requireAnswer<T>(answer: T): T {
  if (isRecord(answer) && Array.isArray(answer["choices"]) && answer["choices"].length > 0) return answer;
  const failed = Failed.safeParse(answer).data?.error;
  if (failed === undefined) throw new Error("The answer is malformed: it has no choices.");
  throw Object.assign(new Error(failed.message), { code: failed.code });
}

/** Fields of a piece of words, in which no vendor says anything that would have to be said otherwise. */
const wordFields = new Set(["role", "content", "refusal"]);

/**
 * Whether a piece of a streamed answer is nothing but words, the end of an answer or its usage, in the words of OpenAI,
 * as nearly all are: those need no second look.
 */
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

/** Whether usage is absent, or has all its numbers, and those of a cache in OpenAI's place. */
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
    ...(delta === undefined || delta === null ? {} : { delta: plainSaid(delta, placeOf) }),
    ...(message === undefined || message === null ? {} : { message: plainSaid(message, placeOf) }),
    // An empty reason says that the answer goes on.
    finish_reason: finish_reason === "" ? null : finish_reason,
  };
}

function plainSaid({ content, reasoning_content, reasoning, tool_calls, ...rest }: Said, placeOf: CallPlace): object {
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

/** Later pieces of a call name nothing; an empty name or id would be taken for one. Arguments are text. */
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
