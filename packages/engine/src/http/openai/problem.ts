import type { ContentfulStatusCode } from "hono/utils/http-status";
import { HTTPException } from "hono/http-exception";
import { z } from "zod";
import { AppError, type ErrorCode, explain, isAppError } from "../../errors/errors.ts";
import type { Logger } from "../../logger.ts";
import { Refusal } from "../../manifest/auth.ts";
import type { RunError } from "../../storage/records.ts";
import type { HttpContext, HttpEnvironment } from "../environment.ts";
import { statusOf } from "../errors.ts";
import type { MiddlewareHandler } from "hono";
import { resolver, uniqueSymbol } from "hono-openapi";
import { readJson } from "../validate.ts";

/** Paths whose errors have OpenAI's form, including those of authentication and limits. */
export const openAiPaths = /^\/v1\/(chat\/completions|responses|models)(\/|$)/u;

/** The body of every error of these routes. */
const OpenAiError = z
  .object({
    error: z.object({
      message: z.string(),
      type: z.string(),
      param: z.string().nullable(),
      code: z.string().nullable(),
    }),
  })
  .meta({ ref: "OpenAiError" });

/** What is wrong with a request, with the parameter's name and a code for programs. */
export class OpenAiProblem extends AppError {
  readonly param: string | null;
  readonly reason: string;

  constructor(kind: ErrorCode, reason: string, message: string, param: string | null = null) {
    super(kind, message);
    this.reason = reason;
    this.param = param;
  }
}

/**
 * Turns anything thrown into OpenAI's form of an error; unexpected errors are logged whole and answered without
 * details.
 */
export function respondOpenAiError(error: unknown, context: HttpContext, logger: Logger): Response {
  const request = { path: context.req.path, request_id: context.get("requestId") };
  if (error instanceof z.ZodError) {
    const [first] = error.issues;
    const message = error.issues
      .slice(0, 5)
      .map((issue) => `${issue.path.join(".") || "body"}: ${issue.message}`)
      .join("; ");
    return answer(context, 400, message, { param: first?.path.join(".") ?? null, code: "invalid_value" });
  }
  if (error instanceof Refusal) {
    for (const [name, value] of error.headers) context.header(name, value);
    return answer(context, error.status, error.message);
  }
  if (error instanceof HTTPException) return answer(context, error.status, error.message);
  if (isAppError(error)) {
    const status = statusOf[error.code];
    if (status >= 500) logger.error({ err: error, ...request }, "request_failed");
    const isRetried = context.get("hasBegun") !== true && (status === 503 || error.code === "rate_limit");
    if (isRetried) context.header("Retry-After", "1");
    const { param = null, reason = error.code } = error instanceof OpenAiProblem ? error : {};
    return answer(context, status, explain(error), { param, code: reason });
  }
  logger.error({ err: error, ...request }, "request_failed");
  return answer(context, 500, "Internal Server Error");
}

/**
 * The response for a failed run: 400 and `x-should-retry: false`. The graph has already acted, and clients that retry
 * on 5xx, as OpenAI's and LangChain's do, would repeat it.
 */
export function respondFailedRun(context: HttpContext, error: RunError): Response {
  context.header("x-should-retry", "false");
  return context.json(failedRunBody(error), 400);
}

/** A run's failure, as a body and as an event of a stream. */
export function failedRunBody({ error, message }: RunError): z.infer<typeof OpenAiError> {
  return { error: { message, type: "run_failed", param: null, code: error } };
}

/**
 * The request has begun a run that a retry would begin again: clients must not retry whatever fails from here on. OpenAI's
 * client reads the header, LangChain's only the status, so a 5xx becomes a 400.
 */
export function forbidRetries(context: HttpContext): void {
  context.header("x-should-retry", "false");
  context.set("hasBegun", true);
}

function answer(
  context: HttpContext,
  status: number,
  message: string,
  { param, code }: { param: string | null; code: string | null } = { param: null, code: null },
): Response {
  const body: z.infer<typeof OpenAiError> = { error: { message, type: typeOf(status), param, code } };
  const sent = status >= 500 && context.get("hasBegun") === true ? 400 : status;
  // HTTPException and the table of errors hold only statuses that have a body.
  return context.json(body, sent as ContentfulStatusCode);
}

function typeOf(status: number): string {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 429:
      return "rate_limit_error";
    default:
      return status < 500 ? "invalid_request_error" : "server_error";
  }
}

/** What all routes document about their errors. */
export const failing = {
  errors: {
    401: "No key, or a wrong one",
    404: "No such model or response",
    422: "The Idempotency-Key came with another request",
    429: "Too many runs wait; Retry-After says when to come back",
  },
  errorAnswers: { 401: OpenAiError, 404: OpenAiError, 422: OpenAiError, 429: OpenAiError },
};

/** What routes that start a run document. */
export const starting = { ...failing, headers: ["Idempotency-Key"], setsPositionHeader: true } as const;

type BodyReader<Schema extends z.ZodType> = MiddlewareHandler<
  HttpEnvironment,
  string,
  { in: { json: z.input<Schema> }; out: { json: z.output<Schema> } }
>;

/** Parses the JSON body; throws errors that are answered in OpenAI's form. */
export function openAiBody<Schema extends z.ZodType>(schema: Schema): BodyReader<Schema> {
  const read: BodyReader<Schema> = async (context, next) => {
    // Hono keeps validated data untyped; `valid()` gives it the type of `out` above.
    context.req.addValidatedData("json", schema.parse(await readJson(context)) as object);
    return next();
  };
  return Object.assign(read, { [uniqueSymbol]: { target: "json", ...resolver(schema, { options: { io: "input" } }) } });
}
