import { z } from "zod";
import {
  alternativePlans,
  handle,
  planToTry,
  type AlternativePlan,
  type UserOption,
} from "@millrace/engine/errors/error-strategy";
import { errorQuestion } from "@millrace/engine/errors/error-texts";
import { AppError, errorCodes } from "@millrace/engine/errors/errors";
import type { Language } from "@millrace/engine/language";
import { StreamedAnswer } from "../progress.ts";

/** A final model failure that waits for the user's decision. */
export const Failure = z.object({
  code: z.enum(errorCodes),
  message: z.string(),
  suggestion: z.string().optional(),
  /** Possible fallbacks not tried yet. */
  plans: z.array(z.enum(alternativePlans)),
  /** The part of the answer that was already streamed. */
  heard: StreamedAnswer.optional(),
});
export type Failure = z.infer<typeof Failure>;

/** The interrupt that asks about a failure (kind `error_decision`). */
export interface ErrorDecisionRequest {
  kind: "error_decision";
  question: string;
  error: Failure["code"];
  /** What exactly happened. */
  details: string;
  suggestions: string[];
  options: UserOption[];
  /** Why the last answer could not be used. */
  problem?: string;
}

/** The question about this failure; `null` if the user cannot decide it. */
export function decisionRequest(failure: Failure, language: Language, problem?: string): ErrorDecisionRequest | null {
  const { code, message, suggestion, plans } = failure;
  const error = new AppError(code, message, suggestion === undefined ? {} : { suggestion });
  const decision = handle(error, "ask_user", { plans, mayAsk: true });
  if (decision.kind !== "pause_for_user_decision") return null;
  const { details, suggestions, options } = decision;
  return {
    kind: "error_decision",
    question: errorQuestion(code, options.includes("TryAlternative"), language),
    error: code,
    details,
    suggestions,
    options,
    ...(problem === undefined ? {} : { problem }),
  };
}

/** The user's decision: retry, retry with a fallback, end the step, or end the turn. */
export type Decided =
  | { kind: "retry" }
  | { kind: "alternative"; plan: AlternativePlan }
  | { kind: "skip" }
  | { kind: "cancel" }
  | { kind: "unclear"; problem: string };

const Option = z
  .string()
  .transform((text) => text.replaceAll(/[\s_-]/gu, "").toLowerCase())
  .transform((text) => words.find(([pattern]) => pattern.test(text))?.[1])
  .pipe(z.enum(["retry", "alternative", "skip", "cancel"]));
const words: [RegExp, "retry" | "alternative" | "skip" | "cancel"][] = [
  [/^(retry|重试)$/u, "retry"],
  [/^(tryalternative|换一种方式)$/u, "alternative"],
  [/^(skip|跳过)$/u, "skip"],
  [/^(cancel|取消)$/u, "cancel"],
];
const Answer = z.union([
  Option,
  z.object({ type: z.enum(["answer", "respond", "response"]), text: Option }).transform(({ text }) => text),
  z.object({ type: z.enum(["answer", "respond", "response"]), value: Option }).transform(({ value }) => value),
  z.object({ option: Option }).transform(({ option }) => option),
  z.literal(false).transform(() => "cancel" as const),
  z.object({ type: z.enum(["reject", "ignore", "deny"]) }).transform(() => "cancel" as const),
]);

/**
 * Reads a decision in the spellings of clients: the option's name, alone or in an answer; a rejection ends the turn.
 */
export function readDecided(answer: unknown, failure: Failure): Decided {
  const read = Answer.safeParse(answer);
  const plan = planToTry(failure.code, failure.plans);
  if (!read.success) return { kind: "unclear", problem: 'Expected "Retry", "TryAlternative", "Skip" or "Cancel".' };
  if (read.data !== "alternative") return { kind: read.data };
  if (plan === undefined) return { kind: "unclear", problem: "There is no other way left. Choose another option." };
  return { kind: "alternative", plan };
}
