import * as z from "zod/mini";
import { currentKey, headerOf } from "./key.ts";

// Zod would try `new Function`, which the page's policy reports.
z.config({ jitless: true });

const Problem = z.object({
  message: z.optional(z.string()),
  detail: z.optional(z.unknown()),
  error: z.optional(z.unknown()),
  code: z.optional(z.string()),
  user_message: z.optional(z.string()),
  message_zh: z.optional(z.string()),
  parameters: z.optional(z.array(z.string())),
  suggestion: z.optional(z.nullable(z.string())),
  errorType: z.optional(z.string()),
});

/** What the server, or the way to it, said instead of an answer. `status` 0: there was no answer. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string | undefined;
  readonly suggestion: string | undefined;
  readonly requestId: string | undefined;
  /** What the server answered, where that was JSON. */
  readonly body: unknown;

  constructor(
    message: string,
    details: { status: number; code?: string; suggestion?: string; requestId?: string; body?: unknown },
  ) {
    super(message);
    this.name = "ApiError";
    this.status = details.status;
    this.code = details.code;
    this.suggestion = details.suggestion;
    this.requestId = details.requestId;
    this.body = details.body;
  }
}

/** How a request differs from a plain GET. */
export interface RequestOptions {
  method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Sent as JSON. */
  body?: unknown;
  /** Sent as they are, in place of `body`. */
  bytes?: Blob;
  signal?: AbortSignal | undefined;
  headers?: Record<string, string>;
  /** In place of the key of this person. */
  key?: string;
  /** Goes on when the page is left. */
  keepalive?: boolean;
}

/** The language in which the server is asked to answer. */
export let language = "en";
/** Sets it. */
export function setRequestLanguage(value: string): void {
  language = value;
}

/** Called when the server refuses the key, so that the page can ask for one. */
let onRefused = (): void => {};
/** Sets who is called. */
export function whenRefused(listener: () => void): void {
  onRefused = listener;
}
/** Says that the server did not take a key; one that was replaced meanwhile is no news. */
export function refused(key: string | undefined): void {
  if (key === currentKey()) onRefused();
}

declare global {
  /** What `before-paint.js` asked while the scripts of the page were loaded. */
  var millraceEarly: { path: string; answer: Promise<Response> } | undefined;
}

/** The answer of a request that was sent early; it is given once. */
function earlyAnswer(path: string): Promise<Response> | undefined {
  const early = globalThis.millraceEarly;
  if (early?.path !== path) return undefined;
  globalThis.millraceEarly = undefined;
  return early.answer;
}

/** What is thrown where an answer, or its end, has not come. */
function unreachable(error: unknown, signal: AbortSignal | undefined): unknown {
  return signal?.aborted ? error : new ApiError("The server cannot be reached.", { status: 0, code: "unreachable" });
}

/** Sends a request and gives its answer as it comes. Throws `ApiError`. */
export async function send(path: string, options: RequestOptions = {}): Promise<Response> {
  const { method = "GET", body, bytes, signal, headers, keepalive } = options;
  const key = options.key ?? currentKey();
  let response: Response;
  try {
    response = await ((options.key === undefined ? earlyAnswer(path) : undefined) ??
      fetch(path, {
        method,
        headers: {
          "Accept-Language": language,
          ...(body !== undefined && { "Content-Type": "application/json" }),
          ...(bytes !== undefined && { "Content-Type": "application/octet-stream" }),
          ...headerOf(key),
          ...headers,
          // The server puts its refusals into Chinese only as JSON.
          ...(language === "zh" && { Accept: `${headers?.["Accept"] ?? "*/*"}, application/json` }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        ...(bytes !== undefined && { body: bytes }),
        ...(signal && { signal }),
        ...(keepalive && { keepalive }),
        credentials: "omit",
      }));
  } catch (error) {
    throw unreachable(error, signal);
  }
  if (response.ok) return response;
  if (response.status === 401) refused(key);
  throw await problemOf(response);
}

/**
 * What a refusal says to a Chinese reader: words of its own; else those of its kind, with the values it names or, where the
 * request has to change, with the server's own words.
 */
export function inChinese(problem: z.infer<typeof Problem>, status: number): string | undefined {
  const { user_message: words, message_zh, parameters, message } = problem;
  const isUnclear = status < 500 && status !== 401 && status !== 429;
  const more = parameters?.join("、") ?? (isUnclear ? message : undefined);
  return words === undefined || message_zh !== undefined || more === undefined ? words : `${words}（${more}）`;
}

async function problemOf(response: Response): Promise<ApiError> {
  const text = await response.text().catch(() => "");
  const requestId = response.headers.get("x-request-id") ?? undefined;
  const read = parsed(text);
  const problem = z.safeParse(Problem, read).data ?? {};
  const nested = z.safeParse(Problem, problem.detail ?? problem.error).data ?? {};
  const texts = [
    inChinese(problem, response.status),
    nested.user_message,
    problem.message,
    nested.message,
    problem.detail,
    problem.error,
  ];
  const message =
    texts.find((one) => typeof one === "string") ?? (read === undefined && text !== "" ? text : undefined);
  const code = problem.code ?? nested.code ?? problem.errorType;
  // The words for users say it already.
  const suggestion =
    problem.user_message === undefined ? (problem.suggestion ?? nested.suggestion ?? undefined) : undefined;
  return new ApiError(message ?? `${response.status} ${response.statusText}`, {
    status: response.status,
    body: read,
    ...(code !== undefined && { code }),
    ...(suggestion !== undefined && { suggestion }),
    ...(requestId !== undefined && { requestId }),
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Sends a request and reads its JSON answer by a schema. Throws `ApiError`, also for an answer of another shape. */
export async function request<Schema extends z.core.$ZodType>(
  path: string,
  schema: Schema,
  options?: RequestOptions,
): Promise<z.output<Schema>> {
  const response = await send(path, options);
  const requestId = response.headers.get("x-request-id") ?? undefined;
  const text = await response.text().catch((error: unknown) => {
    throw unreachable(error, options?.signal);
  });
  const result = z.safeParse(schema, text === "" ? null : parsed(text));
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw new ApiError(`The server's answer cannot be read: ${issue?.path.join(".") ?? ""} ${issue?.message ?? ""}`, {
    status: response.status,
    code: "unreadable",
    ...(requestId !== undefined && { requestId }),
  });
}

/** The first of these forms of a key that the server takes. Throws `ApiError` with what it says of the last where it takes none. */
export async function acceptedKey([key = "", ...others]: readonly string[]): Promise<string> {
  try {
    await perform("/me", { key });
    return key;
  } catch (error) {
    const isUnknown = error instanceof ApiError && error.status === 401;
    if (!isUnknown || others.length === 0) throw error;
    return acceptedKey(others);
  }
}

/** Sends a request of whose answer only the success counts. */
export async function perform(path: string, options: RequestOptions): Promise<void> {
  await (await send(path, options)).body?.cancel();
}
