import { HTTPException } from "hono/http-exception";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { z } from "zod";
import { type ErrorCode, explain, isAppError } from "../errors.ts";
import type { Logger } from "../logger.ts";
import type { HttpContext } from "./environment.ts";

/** The status of every expected failure (API-09). A new code does not compile until it has one. */
export const statusOf: Record<ErrorCode, ContentfulStatusCode> = {
  rate_limit: 429,
  auth: 401,
  quota: 429,
  network: 503,
  timeout: 504,
  server: 503,
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
};

/** The body of a failed validation, as the peer writes it; what the client sent is not repeated. */
export function validationBody(error: z.ZodError): object {
  const issues = error.issues.map(({ code, path, message }) => ({ code, path: path.map(String), message }));
  return { success: false, error: { issues, name: "ZodError" } };
}

/**
 * Turns anything thrown into an answer: text with just the message for what we mean, 500 without details for the rest,
 * which is logged whole (wire contract, section 1).
 */
export function answerError(error: unknown, context: HttpContext, logger: Logger): Response {
  if (error instanceof HTTPException) return plain(context, error.message, error.status);
  if (isAppError(error)) {
    const status = statusOf[error.code];
    if (status >= 500) logger.error({ err: error, path: context.req.path }, "request failed");
    // A refusal that passes by itself says when to come back (a draining server, a full queue; R7 and E8 in reliability.md).
    if (status === 503 || error.code === "rate_limit") context.header("Retry-After", "1");
    return plain(context, explain(error), status);
  }
  logger.error({ err: error, path: context.req.path, requestId: context.get("requestId") }, "request failed");
  return plain(context, "Internal Server Error", 500);
}

function plain(context: HttpContext, text: string, status: number): Response {
  // HTTPException and the table above hold only statuses that have a body.
  return context.text(text, status as ContentfulStatusCode);
}

/** A 404 with the given text. */
export function notFound(message: string): HTTPException {
  return new HTTPException(404, { message });
}
