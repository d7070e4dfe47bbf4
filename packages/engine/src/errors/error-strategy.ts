import { userText } from "./error-texts.ts";
import type { AppError, ErrorCode } from "./errors.ts";

/**
 * How a failure ends without help: `fatal` stays until something outside is changed,
 * `recoverable` may pass by itself or after a correction, `partly` leaves another way.
 */
export type ErrorClass = "fatal" | "recoverable" | "partly";

/** Another way to ask a model: less of the conversation, even less with a summary of the rest, no tools, another model. */
export const alternativePlans = ["shorter_context", "summary", "without_tools", "other_model"] as const;
export type AlternativePlan = (typeof alternativePlans)[number];

/** What may be chosen where a person decides about a failure. */
export const userOptions = ["Retry", "TryAlternative", "Skip", "Cancel"] as const;
export type UserOption = (typeof userOptions)[number];

/** The three stages: the same again, another way, a person. */
export type Stage = "same_way" | "another_way" | "ask_user";

/** What is to be done about a failure. Delays in milliseconds; texts in English. */
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
  /** Further tries in the same way where the failure says that it may pass; 0 for what never does. */
  retries: number;
  /** Other ways that are taken unasked, in order. */
  automatic: readonly AlternativePlan[];
  /** Other ways that a person may choose. */
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

/** What is done about each kind of failure; 3 tries, two after a 429. */
export const strategies: Record<ErrorCode, Strategy> = {
  rate_limit: strategy("recoverable", 2, ["other_model"]),
  auth: strategy("fatal", 0, [], ["other_model"]),
  quota: strategy("partly", 0, ["other_model"]),
  network: strategy("recoverable", 3, ["other_model"]),
  timeout: strategy("recoverable", 3, ["other_model"], ["shorter_context"]),
  server: strategy("recoverable", 3, ["other_model"], ["shorter_context", "without_tools"]),
  // Known to be down, so the same again is pointless for a while.
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

/** Failures that ask no question: the decision is already made, or an answer would change nothing. */
const neverAsked = new Set<ErrorCode>(["cancelled", "denied", "blocked", "invalid_state"]);

/** The first and the longest wait between two tries in the same way; each is three times the one before. */
const usualDelays = { initialMs: 1000, maxMs: 30_000 };
/** The longest wait, in milliseconds, that a service may ask for; a longer one is reported to the user instead. */
const longestAskedWaitMs = 60_000;

/** What is known about a failure beside what it is. */
export interface Situation {
  /** Further tries in the same way so far. */
  tries?: number;
  /** Further tries at most, where the caller has a limit of its own. */
  maxTries?: number | undefined;
  delays?: { initialMs: number; maxMs: number } | undefined;
  /** The wait that the service asks for. */
  askedWaitMs?: number | undefined;
  /** A reader has already seen the beginning: then nothing is repeated unasked. */
  hasBegun?: boolean;
  /** Other ways that are possible here and have not been tried. */
  plans?: readonly AlternativePlan[];
  /** A person can be asked. */
  mayAsk?: boolean;
}

/** The strategy matrix: what to do about a failure, beginning at a stage; a stage that has nothing passes on. */
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
  if (situation.mayAsk !== true || neverAsked.has(error.code)) return { kind: "fail", message, suggestion };
  const hasOther = planAsked(error.code, plans) !== undefined;
  return {
    kind: "pause_for_user_decision",
    message,
    details: error.message,
    suggestions: error.suggestion === undefined ? [suggestion] : [suggestion, error.suggestion],
    options: userOptions.filter((option) => option !== "TryAlternative" || hasOther),
  };
}

/** The other way that a person means by `TryAlternative`: the first that is possible and has not been tried. */
export function planAsked(code: ErrorCode, plans: readonly AlternativePlan[]): AlternativePlan | undefined {
  const { automatic, offered } = strategies[code];
  return [...automatic, ...offered].find((plan) => plans.includes(plan));
}

/** Whether a failure of this kind may be gone a moment later. */
export function isTransient(code: ErrorCode): boolean {
  return strategies[code].retries > 0;
}

/** The advice that a model gets for a tool's failure, unless the tool gives its own. */
export const toolAdvice: Partial<Record<ErrorCode, string>> = {
  not_found: "The path may be wrong: look at the folder, then try again.",
  permission: "Do not repeat the call. Tell the user to check the permissions, or propose another place.",
  too_large: "Read or write a part of it.",
  storage_full: "Tell the user to free some space.",
};

function mayPass(error: Pick<AppError, "code" | "recoverable">, situation: Situation): boolean {
  const { tries = 0, maxTries = strategies[error.code].retries, askedWaitMs = 0 } = situation;
  return error.recoverable && isTransient(error.code) && tries < maxTries && askedWaitMs <= longestAskedWaitMs;
}

function delayOf({ tries = 0, delays = usualDelays, askedWaitMs }: Situation): number {
  return askedWaitMs ?? Math.min(delays.maxMs, delays.initialMs * 3 ** tries);
}
