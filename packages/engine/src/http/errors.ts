import { HTTPException } from "hono/http-exception";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { z } from "zod";
import { strategies } from "../errors/error-strategy.ts";
import { userSentence, userText } from "../errors/error-texts.ts";
import { type Advice, adviceOf, type ErrorCode, errorCodes, explain, isAppError } from "../errors/errors.ts";
import type { Language } from "../language.ts";
import type { Logger } from "../logger.ts";
import { Refusal } from "../manifest/auth.ts";
import type { RunError } from "../storage/records.ts";
import type { HttpContext } from "./environment.ts";
import { languageOf } from "./responses/wire.ts";

/** The status of every expected failure. A new code does not compile without one. */
export const statusOf: Record<ErrorCode, ContentfulStatusCode> = {
  rate_limit: 429,
  auth: 401,
  quota: 429,
  network: 503,
  timeout: 504,
  server: 503,
  service_paused: 503,
  empty_result: 503,
  invalid_format: 400,
  missing_parameter: 400,
  invalid_parameter: 400,
  tool_not_found: 404,
  execution_failed: 500,
  api_error: 503,
  not_found: 404,
  permission: 403,
  conflict: 409,
  context_overflow: 413,
  too_large: 413,
  blocked: 403,
  denied: 403,
  cancelled: 409,
  invalid_state: 409,
  unavailable_tool_mode: 400,
  config: 500,
  storage_full: 507,
  storage_readonly: 500,
  storage_io: 500,
  storage_corrupt: 500,
  storage_newer: 500,
  storage_unavailable: 503,
};

/** Issues reported of a request; it may have thousands. */
export const maxIssues = 100;

/**
 * Answers a failed validation as LangGraph's server does, without repeating the input. Clients that ask for JSON also
 * get advice and the parameters to correct.
 */
export function respondInvalid(error: z.ZodError, context: HttpContext): Response {
  const reported = error.issues.slice(0, maxIssues);
  const issues = reported.map(({ code, path, message }) => ({ code, path: path.map(String), message }));
  const body = { success: false, error: { issues, name: "ZodError" } };
  if (!wantsJson(context)) return context.json(body, 400);
  const parameters = [...new Set(issues.map(({ path }) => path.join(".")))];
  const message = issues.map((issue) => `${issue.path.join(".") || "body"}: ${issue.message}`).join("; ");
  return context.json({ ...body, ...uniformBody("invalid_parameter", message, context), parameters }, 400);
}

/** The code of a refusal that has only a status; other 4xx are wrong parameters, 5xx the server. */
const codeOf: Partial<Record<number, ErrorCode>> = {
  401: "auth",
  403: "permission",
  404: "not_found",
  409: "conflict",
  412: "conflict",
  413: "too_large",
  422: "conflict",
  429: "rate_limit",
  504: "timeout",
  507: "storage_full",
};

/**
 * Turns anything thrown into a response: the message of expected errors as text; for others 500 without details, and
 * the whole error is logged. Clients that ask for JSON get the uniform error body.
 */
export function respondError(error: unknown, context: HttpContext, logger: Logger): Response {
  if (error instanceof Refusal) {
    for (const [name, value] of error.headers) context.header(name, value);
    return answer(context, codeOfStatus(error.status), error.message, error.status);
  }
  if (error instanceof HTTPException && error.status === 401) context.header("WWW-Authenticate", "Bearer");
  if (error instanceof HTTPException) return answer(context, codeOfStatus(error.status), error.message, error.status);
  // The same id as in `X-Request-Id` and the uniform body.
  const request = { path: context.req.path, request_id: context.get("requestId") };
  if (isAppError(error)) {
    const status = statusOf[error.code];
    if (status >= 500) logger.error({ err: error, ...request }, "request_failed");
    // Temporary refusals (draining server, full queue, full disk) say when to retry.
    if (status === 503 || error.code === "rate_limit") context.header("Retry-After", "1");
    if (error.code === "storage_full") context.header("Retry-After", "10");
    const message = wantsJson(context) ? error.message : explain(error);
    const { suggestion: en, message_zh } = error;
    const advice = adviceOf(error) ?? (en === undefined ? {} : { en });
    return answer(context, error.code, message, status, { advice, message_zh });
  }
  logger.error({ err: error, ...request }, "request_failed");
  return answer(context, "server", "Internal Server Error", 500);
}

function codeOfStatus(status: number): ErrorCode {
  return codeOf[status] ?? (status < 500 ? "invalid_parameter" : "server");
}

function answer(context: HttpContext, code: ErrorCode, message: string, wanted: number, more?: ErrorDetails): Response {
  // HTTPException and the table above hold only statuses that have a body.
  const status = wanted as ContentfulStatusCode;
  if (!wantsJson(context)) return context.text(message, status);
  return context.json(uniformBody(code, message, context, more), status);
}

/** What an error says for users beside what its code says. */
interface ErrorDetails {
  advice?: Partial<Advice>;
  message_zh?: string | undefined;
}

/**
 * The uniform error body. Most advice exists in English only and is sent to English readers only, a message in Chinese
 * to Chinese readers.
 */
function uniformBody(code: ErrorCode, message: string, context: HttpContext, details: ErrorDetails = {}): object {
  const language = languageOf(context);
  const { advice = {}, message_zh } = details;
  const usual = forUser(code, language);
  const suggestion = advice[language] ?? usual.suggestion;
  // What helps after any error of the kind may not fit what is said of this one.
  const own = language === "zh" &&
    message_zh !== undefined && { message_zh, user_message: message_zh + (advice.zh ?? "") };
  return { errorType: code, message, ...usual, suggestion, ...own, request_id: context.get("requestId") };
}

/** SDKs and curl accept anything and get what LangGraph's server sends; JSON is for clients that name it. */
function wantsJson(context: HttpContext): boolean {
  return /\bapplication\/json\b/iu.test(context.req.header("accept") ?? "");
}

/** The user-facing parts of an error: whether something can be done, what, and the message in the user's language. */
function forUser(
  code: ErrorCode,
  language: Language,
  advice?: string,
): { suggestion: string; recoverable: boolean; user_message: string } {
  const { suggestion } = userText(code, language);
  return {
    suggestion: advice ?? suggestion,
    recoverable: strategies[code].class !== "fatal",
    user_message: userSentence(code, language, advice),
  };
}

/**
 * A run's failure for a reader, with advice in the reader's language for our own error codes. Errors of other graphs
 * stay as they are.
 */
export function toWireRunError({ advice, ...error }: RunError, language: Language): object {
  const code = errorCodes.find((known) => known === error.error);
  return code === undefined ? error : { ...error, ...forUser(code, language, advice?.[language]) };
}

/** A 404 with the given text. */
export function notFound(message: string): HTTPException {
  return new HTTPException(404, { message });
}
