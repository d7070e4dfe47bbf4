import {
  adviceOf,
  AppError,
  type ErrorCode,
  errorMessage,
  isAppError,
  withAdvice,
} from "@millrace/engine/errors/errors";
import type { ModelTarget } from "./provider.ts";

const connectionCodes = [
  "ECONNREFUSED",
  "ECONNRESET",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EPIPE",
  "EHOSTUNREACH",
  "ENETUNREACH",
];
const timeoutCodes = ["ETIMEDOUT", "UND_ERR_CONNECT_TIMEOUT", "UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT"];
/** Words that can only mean the context limit. */
const contextWords = /context.{0,20}(length|window|size|limit|exceed)|maximum context|上下文/iu;
/** Vendors' texts for an overlong conversation (OpenAI, Anthropic, Qwen, SiliconFlow, Zhipu and others). */
const overflowWords = new RegExp(
  [
    "context.{0,20}(length|window|size|exceed)",
    "maximum context",
    "too many tokens",
    "token.{0,10}(超限|exceed)",
    "exceed\\w*.{0,20}(max|limit).{0,20}tokens",
    "(prompt|input) (is|are) too long",
    "(prompt|input)( length)? exceeds.{0,20}(max|limit|length)",
    "range of input length",
    "length of prompt_tokens.{0,40}less than",
    "(输入|提示词|上下文|对话|prompt).{0,12}(超出|超过|超长|过长|超限)",
    "(超出|超过).{0,12}(上下文|最大长度|长度限制)",
  ].join("|"),
  "iu",
);
/** Other limits, which a shorter conversation does not help. */
const otherLimitWords = new RegExp(
  [
    "max_(completion_|output_|new_)?tokens\\b.{0,40}exceed",
    "\\brate\\b|per (second|minute|hour|day)\\b|\\b[rt]p[md]\\b",
    "(number|count) of (images|files)|images?\\b.{0,40}exceed",
    "次数|速率|频率|并发|每分钟",
  ].join("|"),
  "iu",
);
const quotaWords = /insufficient[_ -]?quota|exceeded your current quota|billing|credit balance|余额|欠费|配额/iu;
/** Some vendors report unknown models with 400. */
const unknownModelWords = /model\b.{0,80}\b(?:does )?not (?:exist|found)|(?:unknown|no such) model|模型不存在/iu;
const brokenWords =
  /connection error|\bterminated|fetch failed|socket hang up|other side closed|did not receive done/iu;
const unreadableWords = /malformed|unexpected (token|end)|not valid json|in json at|unterminated string/iu;

/** Fields of a provider's error, from any package. */
interface Signs {
  names: string[];
  codes: string[];
  status: number | undefined;
  text: string;
}

/**
 * Converts any error of a model client to an AppError with advice. `recoverable`: the same call may work later. `cause`
 * is the original unless it contains the key, because loggers log causes.
 */
export function toModelError(error: unknown, target?: ModelTarget): AppError {
  if (isAppError(error)) return error.code === "timeout" ? advised(error, target) : error;
  const signs = readSigns(error);
  const [who, where] = namesOf(target);
  const words = target?.withoutKey?.(signs.text) ?? signs.text;
  const said = cleanText(words);
  const make = makerOf(words === signs.text ? error : undefined, signs.text, target);

  switch (kindOf(signs)) {
    case "cancelled":
      return make("cancelled", "The model call was stopped.", "Send the message again when you want to go on.");
    case "context_overflow":
      return make(
        "context_overflow",
        `The conversation is longer than ${who.toLowerCase()} can read: ${said}`,
        "Start a new conversation, refer to less, compress this one, or choose a model with a larger context.",
      );
    case "auth":
      return make(
        "auth",
        `${who}${where} refused the key (${signs.status}).`,
        target?.keyHint ?? "Check the key of this provider.",
      );
    case "quota":
      return make(
        "quota",
        `The quota of ${who.toLowerCase()} is used up: ${said}`,
        "Add credit, or choose another model.",
      );
    case "rate_limit":
      return make("rate_limit", `${who}${where} is limiting requests: ${said}`, "Wait a little, then try again.", true);
    case "not_found":
      return make(
        "not_found",
        `${who}${where} was not found: ${said}`,
        target?.unknownModelHint ?? "Check the model's name.",
      );
    case "unavailable_tool_mode":
      return make("unavailable_tool_mode", `${who} cannot use tools: ${said}`, "Choose a model with tool support.");
    case "timeout":
      return make("timeout", `${who}${where} did not answer in time.`, target?.unreachableHint ?? "Try again.", true);
    case "network":
      return make(
        "network",
        `${who} cannot be reached${where}, or the connection broke: ${said}`,
        target?.unreachableHint ?? "Check the network and the address of the model server.",
        true,
      );
    case "server":
      return make("server", `${who}${where} failed: ${said}`, "Try again later, or choose another model.", true);
    case "unreadable":
      return make("server", `${who}${where} sent an answer that cannot be read: ${said}`, "Try again.", true);
    case "refused":
      return make("api_error", `${who}${where} refused the request (${signs.status}): ${said}`, "Check the request.");
    case "unknown":
      return make("server", `${who}${where} failed: ${said}`, "Look at the server's log for the cause.");
  }
}

function makerOf(cause: unknown, text: string, target: ModelTarget | undefined) {
  return (code: ErrorCode, message: string, suggestion: string, recoverable = false): AppError => {
    const advice = target?.advise?.(code, text);
    const options = { suggestion: advice?.en ?? suggestion, recoverable, cause };
    return withAdvice(new AppError(code, message, options), advice);
  };
}

/** The model and address for error messages. */
function namesOf(target: ModelTarget | undefined): [who: string, where: string] {
  const who = target?.name === undefined ? "The model" : `The model ${target.name}`;
  return [who, target?.address === undefined ? "" : ` at ${target.address}`];
}

/** Our own time-outs do not name the model yet. */
function advised(error: AppError, target: ModelTarget | undefined): AppError {
  const advice = adviceOf(error) === undefined ? target?.advise?.(error.code, error.message) : undefined;
  if (advice === undefined) return error;
  const { code, message, recoverable } = error;
  return withAdvice(new AppError(code, message, { suggestion: advice.en, recoverable, cause: error }), advice);
}

type Kind =
  | "cancelled"
  | "context_overflow"
  | "auth"
  | "quota"
  | "rate_limit"
  | "not_found"
  | "unavailable_tool_mode"
  | "timeout"
  | "network"
  | "server"
  | "unreadable"
  | "refused"
  | "unknown";

function kindOf(signs: Signs): Kind {
  const { names, codes, status, text } = signs;
  if (names.includes("ContextOverflowError") || (mayBeOverflow(status) && saysOverflow(text))) {
    return "context_overflow";
  }
  if (status !== undefined) return kindOfStatus(status, codes, text);
  if (names.some((name) => ["AbortError", "APIUserAbortError", "ModelAbortError"].includes(name))) return "cancelled";
  if (text === "AbortError" || text === "Aborted") return "cancelled";
  if (names.includes("TimeoutError") || codes.some((code) => timeoutCodes.includes(code))) return "timeout";
  if (codes.some((code) => connectionCodes.includes(code) || code.startsWith("UND_ERR_") || code.includes("CERT"))) {
    return "network";
  }
  if (brokenWords.test(text)) return "network";
  if (unreadableWords.test(text)) return "unreadable";
  return "unknown";
}

/** Authentication, credit and rate limits have other status codes. */
function mayBeOverflow(status: number | undefined): boolean {
  return status === undefined || (status >= 400 && status < 500 && ![401, 402, 403, 429].includes(status));
}

/** Whether the conversation is too long; a false positive would shrink the window. */
function saysOverflow(text: string): boolean {
  return overflowWords.test(text) && (contextWords.test(text) || !otherLimitWords.test(text));
}

function kindOfStatus(status: number, codes: string[], text: string): Kind {
  if (status === 401 || status === 403) return "auth";
  if (status === 402 || codes.includes("insufficient_quota")) return "quota";
  if (status === 429) return quotaWords.test(text) ? "quota" : "rate_limit";
  if (status === 404 || (status === 400 && unknownModelWords.test(text))) return "not_found";
  if (status === 408) return "timeout";
  if (status >= 500) return "server";
  if (/does not support tools/iu.test(text)) return "unavailable_tool_mode";
  return "refused";
}

/** Follows the cause chain: clients wrap the socket error, which alone has the address. */
function readSigns(error: unknown): Signs {
  const signs: Signs = { names: [], codes: [], status: undefined, text: "" };
  const texts: string[] = [];
  let current: unknown = error;
  for (let depth = 0; depth < 5 && typeof current === "object" && current !== null; depth += 1) {
    if ("name" in current && typeof current.name === "string") signs.names.push(current.name);
    signs.names.push(current.constructor.name);
    if ("code" in current && typeof current.code === "string") signs.codes.push(current.code);
    for (const key of ["status", "status_code"]) {
      const value: unknown = Reflect.get(current, key);
      if (signs.status === undefined && typeof value === "number") signs.status = value;
    }
    signs.status ??= statusInCode(current);
    const text = errorMessage(current);
    if (!texts.includes(text)) texts.push(text);
    current = "cause" in current ? current.cause : undefined;
  }
  signs.text = texts.length === 0 ? errorMessage(error) : texts.join(": ");
  return signs;
}

/** Gateways that fail mid-stream put the status into the error's code. */
function statusInCode(error: object): number | undefined {
  const code: unknown = Reflect.get(error, "code");
  return typeof code === "number" && code >= 400 && code < 600 ? code : undefined;
}

/** A provider's error text, shortened, without LangChain's link and anything that looks like a key. */
function cleanText(text: string): string {
  const plain = text
    .replace(/(?<!\s)\s*Troubleshooting URL: \S+/gu, "")
    .replace(/\b(sk|key|Bearer)[-_ ][\w-]{6,}/gu, "[redacted]")
    .trim();
  return plain.length > 300 ? `${plain.slice(0, 300).replace(/\p{Cs}$/u, "")}…` : plain;
}
