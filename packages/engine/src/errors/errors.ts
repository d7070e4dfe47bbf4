import type { Language } from "../language.ts";

/**
 * Every kind of expected failure, in the words of the error table (section 18.3), plus those that only
 * the server itself meets (`service_paused`, `config`, `storage_*`). Closed: a new code does not compile without a status in `http/errors.ts`.
 */
export const errorCodes = [
  "rate_limit",
  "auth",
  "quota",
  "network",
  "timeout",
  "server",
  "service_paused",
  "empty_result",
  "invalid_format",
  "missing_parameter",
  "invalid_parameter",
  "tool_not_found",
  "execution_failed",
  "api_error",
  "not_found",
  "permission",
  "conflict",
  "context_overflow",
  "too_large",
  "blocked",
  "denied",
  "cancelled",
  "invalid_state",
  "unavailable_tool_mode",
  "config",
  "storage_full",
  "storage_readonly",
  "storage_io",
  "storage_corrupt",
  "storage_newer",
  "storage_unavailable",
] as const;

export type ErrorCode = (typeof errorCodes)[number];

/** What an AppError may say beside its code and message. */
export interface AppErrorOptions {
  /** What the reader can do about it, one sentence. */
  suggestion?: string | undefined;
  /** The message for a Chinese user, where it says more than the text of the code. */
  message_zh?: string | undefined;
  /** Whether the same request may work later or after a change. Default false. */
  recoverable?: boolean;
  cause?: unknown;
}

/**
 * A failure we mean. `message` says what was expected and what came; it may be shown to a client. Recognise it with
 * `isAppError` and `code`, never by class: classes are lost across checkpoints and copies of a module.
 */
export class AppError extends Error {
  override readonly name = "AppError";
  readonly code: ErrorCode;
  readonly suggestion: string | undefined;
  readonly message_zh: string | undefined;
  readonly recoverable: boolean;

  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.suggestion = options.suggestion;
    this.message_zh = options.message_zh;
    this.recoverable = options.recoverable ?? false;
  }
}

/** Whether `error` is one of ours, also when it comes from another copy of this module. */
export function isAppError(error: unknown): error is AppError {
  return (
    error instanceof Error &&
    error.name === "AppError" &&
    "code" in error &&
    errorCodes.some((code) => code === error.code)
  );
}

/** What happened and what to do about it, for a reader. */
export function explain({ message, suggestion }: AppError): string {
  if (suggestion === undefined) return message;
  return `${message}${/[.!?。！？]$/u.test(message) ? "" : "."} ${suggestion}`;
}

/** Characters of an object that was thrown. */
const longestJson = 500;

/** The text of anything thrown, also of what is no error and cannot be written; never empty, and throws nothing itself. */
export function errorMessage(error: unknown): string {
  if (error instanceof Error) return error.message || error.name;
  if (typeof error !== "object" || error === null) return String(error) || "Nothing was said about the failure.";
  try {
    const message: unknown = Reflect.get(error, "message");
    return typeof message === "string" && message !== "" ? message : JSON.stringify(error).slice(0, longestJson);
  } catch {
    // Foreign code may throw anything; reading it must not throw again.
    return "The failure cannot be written.";
  }
}

/** For the branch of a `switch` over a closed union that cannot be reached. */
export function assertNever(value: never): never {
  throw new AppError("invalid_state", `Unexpected value: ${JSON.stringify(value)}`);
}

/** The code of an error of the operating system, of node or of SQLite, such as `ENOENT`; empty where an error has none. */
export function systemCode(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}

/** Whether an error carries one of these codes. */
export function hasCode(error: unknown, ...codes: string[]): boolean {
  return codes.includes(systemCode(error));
}

/** What a reader can do about a failure, in each language. */
export type Advice = Readonly<Record<Language, string>>;

const given = new WeakMap<AppError, Advice>();

/** Remembers what is advised about an error, if anything is; its own suggestion is English. */
export function withAdvice(error: AppError, advice: Advice | undefined): AppError {
  if (advice !== undefined) given.set(error, advice);
  return error;
}

/** The advice that an error carries; `undefined` where its code says all there is. */
export function adviceOf(error: AppError): Advice | undefined {
  return given.get(error);
}
