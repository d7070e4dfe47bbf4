import { userText } from "./error-texts.ts";
import type { AppError, ErrorCode } from "./errors.ts";

/**
 * How a failure ends without intervention: `fatal` stays until something external changes, `recoverable` may pass by
 * itself or after a correction, `partly` has an alternative.
 */
export type ErrorClass = "fatal" | "recoverable" | "partly";

/**
 * Alternatives for a model call: a shorter conversation, an even shorter one with a summary, no tools, another model.
 */
export const alternativePlans = ["shorter_context", "summary", "without_tools", "other_model"] as const;
export type AlternativePlan = (typeof alternativePlans)[number];

/** Choices when a person decides about a failure. */
export const userOptions = ["Retry", "TryAlternative", "Skip", "Cancel"] as const;
export type UserOption = (typeof userOptions)[number];

/** The three stages: retry, alternative, ask a person. */
export type Stage = "same_way" | "another_way" | "ask_user";

/** How to handle a failure. Delays in milliseconds; texts in English. */
export type HandlingDecision =
  | { kind: "retry"; delayMs: number }
  | { kind: "retry_with_alternative"; plan: AlternativePlan; delayMs: number }
  | {
      kind: "pause_for_user_decision";
      message: string;
      /** The technical details, shown on request. */
      details: string;
      suggestions: string[];
      options: UserOption[];
    }
  | { kind: "fail"; message: string; suggestion: string };

/** One row of the strategy matrix. */
interface Strategy {
  class: ErrorClass;
  /** Retries for a transient failure; 0 for permanent ones. */
  retries: number;
  /** Alternatives taken automatically, in order. */
  automatic: readonly AlternativePlan[];
  /** Alternatives offered to a person. */
  offered: readonly AlternativePlan[];
}

function strategy(
  errorClass: ErrorClass,
  retries = 0,
  automatic: readonly AlternativePlan[] = [],
  offered: readonly AlternativePlan[] = [],
): Strategy {
  return { class: errorClass, retries, automatic, offered };
}

/** The handling of each kind of failure; 3 retries, two after a 429. */
export const strategies: Record<ErrorCode, Strategy> = {
  rate_limit: strategy("recoverable", 2, ["other_model"]),
  auth: strategy("fatal", 0, [], ["other_model"]),
  quota: strategy("partly", 0, ["other_model"]),
  network: strategy("recoverable", 3, ["other_model"]),
  timeout: strategy("recoverable", 3, ["other_model"], ["shorter_context"]),
  server: strategy("recoverable", 3, ["other_model"], ["shorter_context", "without_tools"]),
  // Known to be down, so retrying is pointless for a while.
  service_paused: strategy("recoverable", 0, ["other_model"]),
  empty_result: strategy("partly"),
  invalid_format: strategy("recoverable"),
  missing_parameter: strategy("recoverable"),
  invalid_parameter: strategy("recoverable"),
  tool_not_found: strategy("recoverable"),
  execution_failed: strategy("partly"),
  api_error: strategy("partly", 0, [], ["other_model", "without_tools", "shorter_context"]),
  not_found: strategy("partly", 0, ["other_model"]),
  permission: strategy("fatal"),
  conflict: strategy("recoverable"),
  // Smart cut, then a summary, then advice.
  context_overflow: strategy("partly", 0, ["shorter_context", "summary", "other_model"]),
  too_large: strategy("partly"),
  blocked: strategy("partly"),
  denied: strategy("fatal"),
  cancelled: strategy("fatal"),
  invalid_state: strategy("fatal"),
  unavailable_tool_mode: strategy("partly", 0, ["other_model", "without_tools"]),
  config: strategy("fatal"),
  storage_full: strategy("recoverable"),
  storage_readonly: strategy("fatal"),
  storage_io: strategy("fatal"),
  storage_corrupt: strategy("fatal"),
  storage_newer: strategy("fatal"),
  storage_unavailable: strategy("recoverable"),
};

/** Failures without a question: already decided, or an answer would change nothing. */
const withoutQuestion = new Set<ErrorCode>(["cancelled", "denied", "blocked", "invalid_state"]);

/** The first and the longest delay between retries; each is three times the one before. */
const defaultDelays = { initialMs: 1000, maxMs: 30_000 };
/** Maximum delay in milliseconds that a service may request; longer ones are reported to the user. */
const maxRequestedDelayMs = 60_000;

/** The circumstances of a failure. */
export interface Situation {
  /** Retries so far. */
  tries?: number;
  /** Maximum retries, if the caller has its own limit. */
  maxTries?: number | undefined;
  delays?: { initialMs: number; maxMs: number } | undefined;
  /** The delay requested by the service. */
  requestedDelayMs?: number | undefined;
  /** A reader has already seen the beginning, so nothing is retried automatically. */
  hasBegun?: boolean;
  /** Untried alternatives. */
  plans?: readonly AlternativePlan[];
  /** Whether a person can be asked. */
  mayAsk?: boolean;
}

/** Applies the strategy matrix from a stage on; a stage without options falls through to the next. */
export function handle(
  error: Pick<AppError, "code" | "message" | "suggestion" | "recoverable">,
  stage: Stage,
  situation: Situation = {},
): HandlingDecision {
  const { automatic } = strategies[error.code];
  const { plans = [], hasBegun = false } = situation;
  if (stage === "same_way" && !hasBegun && mayPass(error, situation)) {
    return { kind: "retry", delayMs: delayOf(situation) };
  }
  const next = automatic.find((plan) => plans.includes(plan));
  if (stage !== "ask_user" && !hasBegun && next !== undefined) {
    return { kind: "retry_with_alternative", plan: next, delayMs: 0 };
  }
  const { message, suggestion } = userText(error.code, "en");
  if (situation.mayAsk !== true || withoutQuestion.has(error.code)) return { kind: "fail", message, suggestion };
  const hasOther = planToTry(error.code, plans) !== undefined;
  return {
    kind: "pause_for_user_decision",
    message,
    details: error.message,
    suggestions: error.suggestion === undefined ? [suggestion] : [suggestion, error.suggestion],
    options: userOptions.filter((option) => option !== "TryAlternative" || hasOther),
  };
}

/** The alternative meant by `TryAlternative`: the first possible untried one. */
export function planToTry(code: ErrorCode, plans: readonly AlternativePlan[]): AlternativePlan | undefined {
  const { automatic, offered } = strategies[code];
  return [...automatic, ...offered].find((plan) => plans.includes(plan));
}

/** Whether a failure of this kind is transient. */
export function isTransient(code: ErrorCode): boolean {
  return strategies[code].retries > 0;
}

/** Advice to the model for a tool's failure, unless the tool has its own. */
export const toolAdvice: Partial<Record<ErrorCode, string>> = {
  not_found: "The path may be wrong: look at the folder, then try again.",
  permission: "Do not repeat the call. Tell the user to check the permissions, or propose another place.",
  too_large: "Read or write a part of it.",
  storage_full: "Tell the user to free some space.",
};

function mayPass(error: Pick<AppError, "code" | "recoverable">, situation: Situation): boolean {
  const { tries = 0, maxTries = strategies[error.code].retries, requestedDelayMs = 0 } = situation;
  return error.recoverable && isTransient(error.code) && tries < maxTries && requestedDelayMs <= maxRequestedDelayMs;
}

function delayOf({ tries = 0, delays = defaultDelays, requestedDelayMs }: Situation): number {
  return requestedDelayMs ?? Math.min(delays.maxMs, delays.initialMs * 3 ** tries);
}
