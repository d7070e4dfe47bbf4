import { z } from "zod";
import {
  alternativePlans,
  handle,
  planAsked,
  type AlternativePlan,
  type UserOption,
} from "@millrace/engine/errors/error-strategy";
import { errorQuestion } from "@millrace/engine/errors/error-texts";
import { AppError, errorCodes } from "@millrace/engine/errors/errors";
import type { Language } from "@millrace/engine/language";
import { HeardAnswer } from "../progress.ts";

/** A model call that failed for good, while a person decides about it. */
export const Failure = z.object({
  code: z.enum(errorCodes),
  message: z.string(),
  suggestion: z.string().optional(),
  /** Other ways that are possible and have not been tried. */
  plans: z.array(z.enum(alternativePlans)),
  /** What readers had been told of the answer that broke off. */
  heard: HeardAnswer.optional(),
});
export type Failure = z.infer<typeof Failure>;

/** What a person is asked about a failure, as the interrupt carries it (kind `error_decision`). */
export interface ErrorDecisionRequest {
  kind: "error_decision";
  question: string;
  error: Failure["code"];
  /** What exactly happened, for whoever wants to see it. */
  details: string;
  suggestions: string[];
  options: UserOption[];
  /** Set when the last answer could not be used: what was wrong with it. */
  problem?: string;
}

/** Whether a person is asked about this failure, and what. */
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

/** What was decided: another try, in the same way or in this other one; an end of this step; an end of the turn. */
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

/** Reads a decision as clients spell it: the option's name, alone or in an answer; a no ends the turn. */
export function readDecided(answer: unknown, failure: Failure): Decided {
  const read = Answer.safeParse(answer);
  const plan = planAsked(failure.code, failure.plans);
  if (!read.success) return { kind: "unclear", problem: 'Expected "Retry", "TryAlternative", "Skip" or "Cancel".' };
  if (read.data !== "alternative") return { kind: read.data };
  if (plan === undefined) return { kind: "unclear", problem: "There is no other way left. Choose another option." };
  return { kind: "alternative", plan };
}
