import type { Language } from "../language.ts";

/**
 * Every kind of expected failure, including the server's own (`service_paused`, `config`, `storage_*`). Closed: a new
 * code does not compile without a status in `http/errors.ts`.
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
  /** What the reader can do, in one sentence. */
  suggestion?: string | undefined;
  /** The message for Chinese users, if it says more than the code's text. */
  message_zh?: string | undefined;
  /** Whether the request may succeed later or after a change. Default false. */
  recoverable?: boolean;
  cause?: unknown;
}

/**
 * An expected failure. `message` says what was expected and what was received; clients may see it. Recognise it with
 * `isAppError` and `code`, never by class, which is lost across checkpoints and copies of a module.
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

/** Whether `error` is an AppError, even from another copy of this module. */
export function isAppError(error: unknown): error is AppError {
  return (
    error instanceof Error &&
    error.name === "AppError" &&
    "code" in error &&
    errorCodes.some((code) => code === error.code)
  );
}

/** The message and the suggestion, for a reader. */
export function explain({ message, suggestion }: AppError): string {
  if (suggestion === undefined) return message;
  return `${message}${/[.!?。！？]$/u.test(message) ? "" : "."} ${suggestion}`;
}

/** Maximum characters of a thrown object. */
const maxJsonLength = 500;

/** The text of anything thrown, even if it is not an error or cannot be stringified; never empty, never throws. */
export function errorMessage(error: unknown): string {
  if (error instanceof Error) return error.message || error.name;
  if (typeof error !== "object" || error === null) return String(error) || "Nothing was said about the failure.";
  try {
    const message: unknown = Reflect.get(error, "message");
    return typeof message === "string" && message !== "" ? message : JSON.stringify(error).slice(0, maxJsonLength);
  } catch {
    // Foreign code may throw anything; reading it must not throw again.
    return "The failure cannot be written.";
  }
}

/** For unreachable branches of a `switch` over a closed union. */
export function assertNever(value: never): never {
  throw new AppError("invalid_state", `Unexpected value: ${JSON.stringify(value)}`);
}

/** The code of a system, node or SQLite error, such as `ENOENT`; empty if it has none. */
export function systemCode(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}

/** Whether an error has one of these codes. */
export function hasCode(error: unknown, ...codes: string[]): boolean {
  return codes.includes(systemCode(error));
}

/** What a reader can do about a failure, by language. */
export type Advice = Readonly<Record<Language, string>>;

const given = new WeakMap<AppError, Advice>();

/** Attaches advice to an error, if any; its own suggestion is English. */
export function withAdvice(error: AppError, advice: Advice | undefined): AppError {
  if (advice !== undefined) given.set(error, advice);
  return error;
}

/** The advice attached to an error; `undefined` if its code says enough. */
export function adviceOf(error: AppError): Advice | undefined {
  return given.get(error);
}
