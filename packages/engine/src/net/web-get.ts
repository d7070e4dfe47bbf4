import type { Agent, Response } from "undici";
import { AppError, errorMessage, isAppError, systemCode } from "../errors/errors.ts";
import { openAgent, readWebAddress, type WebAddress, type WebRules } from "./checked-agent.ts";

/** One request. */
export interface WebRequest {
  address: string;
  headers?: Readonly<Record<string, string>>;
  /** Maximum redirects. */
  redirects: number;
  /** Maximum bytes of the body. */
  limit: number;
  /** Truncate a longer body instead of refusing it. */
  isCut?: boolean;
  /** Timeout in milliseconds for everything. */
  within: number;
}

/** The response. `url` is the final one. */
export interface WebAnswer {
  url: URL;
  status: number;
  /** As the server sent it; empty if missing. */
  contentType: string;
  body: Buffer;
}

/** Encodings that a request accepts and `fetch` decodes. */
const codings = ["gzip", "deflate", "br"];

/**
 * Fetches a web URL: every hop's host is checked with each of its addresses, and the connection goes to a checked one.
 * Throws AppErrors: `blocked`, `network`, `timeout`, `too_large`, `invalid_format`, `invalid_parameter`; and the
 * signal's reason.
 */
export async function webGet(wanted: WebRequest, rules: WebRules, signal: AbortSignal): Promise<WebAnswer> {
  const { address, redirects, within } = wanted;
  const late = AbortSignal.timeout(within);
  const ends = AbortSignal.any([signal, late]);
  let place = readWebAddress(address, rules.allowed);
  for (let hop = 0; ; hop += 1) {
    try {
      const answer = await getOnce(place, wanted, rules, ends);
      if (!("next" in answer)) return answer;
      if (hop >= redirects) {
        throw new AppError("blocked", `${place.host} sends the request on, more often than ${redirects} times.`);
      }
      place = nextPlace(answer.next, place, rules);
    } catch (error) {
      signal.throwIfAborted();
      if (late.aborted) {
        throw new AppError("timeout", `${place.host} did not answer within ${within / 1000} seconds.`, {
          suggestion: "Try again later, or look elsewhere.",
          recoverable: true,
        });
      }
      throw requestFailure(error, place.host);
    }
  }
}

/** A redirect's target is checked like the first URL. */
function nextPlace(location: string, from: WebAddress, rules: WebRules): WebAddress {
  if (!URL.canParse(location, from.url.href)) {
    throw new AppError("invalid_format", `${from.host} sends the request on to something that is no address.`);
  }
  return readWebAddress(new URL(location, from.url).href, rules.allowed);
}

async function getOnce(
  place: WebAddress,
  { headers = {}, limit, isCut = false }: WebRequest,
  rules: WebRules,
  signal: AbortSignal,
): Promise<WebAnswer | { next: string }> {
  // A compressed body may be large and decode to nothing.
  const agent: Agent = await openAgent(place, rules, { maxResponseSize: isCut ? 4 * limit : limit }, signal);
  try {
    const { fetch } = await import("undici");
    const answer = await fetch(place.url, {
      dispatcher: agent,
      redirect: "manual",
      headers: { "user-agent": "Millrace", "accept-encoding": codings.join(", "), ...headers },
      signal,
    });
    const next = answer.headers.get("location");
    if ([301, 302, 303, 307, 308].includes(answer.status) && next !== null) return { next };
    const body = await readBody(answer, limit, isCut);
    return { url: place.url, status: answer.status, contentType: answer.headers.get("content-type") ?? "", body };
  } catch (error) {
    throw isTooLarge(error) ? tooLarge(limit) : error;
  } finally {
    await agent.destroy();
  }
}

/** The decoded body, up to `limit` bytes: a small response may expand without end. */
async function readBody({ headers, body }: Response, limit: number, isCut: boolean): Promise<Buffer> {
  const coding = (headers.get("content-encoding") ?? "identity").trim().toLowerCase();
  if (!["", "identity", "x-gzip", ...codings].includes(coding)) {
    const message = `The answer is packed in a way that was not asked for (${coding.slice(0, 40)}).`;
    throw new AppError("invalid_format", message);
  }
  if (!isCut && Number(headers.get("content-length") ?? 0) > limit) throw tooLarge(limit);
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of body ?? []) {
    parts.push(part.subarray(0, limit - length));
    length += part.length;
    if (length <= limit) continue;
    if (isCut) break;
    throw tooLarge(limit);
  }
  return Buffer.concat(parts);
}

function isTooLarge(error: unknown): boolean {
  const cause = error instanceof Error && !isAppError(error) ? error.cause : undefined;
  return cause instanceof Error && "code" in cause && cause.code === "UND_ERR_RES_EXCEEDED_MAX_SIZE";
}

function tooLarge(limit: number): AppError {
  return new AppError("too_large", `The answer has more than ${Math.floor(limit / 1024 / 1024)} MB.`, {
    suggestion: "Ask for a smaller page.",
  });
}

/** A request to an address of the web. */
interface WebMessage {
  address: string;
  headers: Readonly<Record<string, string>>;
  body: string;
  /** Timeout in milliseconds for the response's head. */
  within: number;
}

/**
 * Posts to a web URL without following redirects. Returns the status. Throws AppErrors: `blocked`, `network`,
 * `timeout`, `invalid_parameter`; and the signal's reason.
 */
export async function webPost(
  { address, headers, body, within }: WebMessage,
  rules: WebRules,
  signal: AbortSignal,
): Promise<number> {
  const place = readWebAddress(address, rules.allowed);
  const late = AbortSignal.timeout(within);
  const ends = AbortSignal.any([signal, late]);
  try {
    const agent = await openAgent(place, rules, {}, ends);
    try {
      const { url } = place;
      const sent = { "user-agent": "Millrace", ...headers };
      const answer = await agent.request({
        origin: url.origin,
        path: `${url.pathname}${url.search}`,
        method: "POST",
        headers: sent,
        body,
        signal: ends,
      });
      // The body is not read, so its errors do not matter.
      answer.body.on("error", () => undefined).destroy();
      return answer.statusCode;
    } finally {
      await agent.destroy();
    }
  } catch (error) {
    signal.throwIfAborted();
    if (!late.aborted) throw requestFailure(error, place.host);
    throw new AppError("timeout", `${place.host} did not answer within ${within / 1000} seconds.`, {
      recoverable: true,
    });
  }
}

/** Meanings of node's and undici's codes, by prefix. */
const failures: readonly [RegExp, string][] = [
  [/^ECONNREFUSED/u, "refused the connection"],
  [
    /^(?:ECONNRESET|EPIPE|UND_ERR_SOCKET|ERR_STREAM_PREMATURE_CLOSE|HPE_INVALID_EOF_STATE)/u,
    "broke the connection off",
  ],
  [/^(?:EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL)/u, "cannot be reached"],
  [/^(?:ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT|ERR_SOCKET_CONNECTION_TIMEOUT)/u, "did not take the connection in time"],
  [/^(?:CERT_|ERR_TLS|ERR_SSL|UNABLE_TO|SELF_SIGNED|DEPTH_ZERO|EPROTO)/u, "has no certificate that can be trusted"],
  [/^(?:HPE_|Z_|ERR__ERROR_FORMAT|ERR_BUFFER)/u, "sent an answer that cannot be read"],
];

/**
 * A failed request as an AppError about its host: without node's wording, and without more of the URL, since a query
 * may hold a key. `network`, or `invalid_format` for an invalid response.
 */
function requestFailure(error: unknown, host: string): AppError {
  if (isAppError(error)) return error;
  const code = codeOf(error);
  const [, known] = failures.find(([pattern]) => pattern.test(code)) ?? [];
  const isUnreadable = known === "sent an answer that cannot be read";
  const description = known ?? `could not be asked (${code === "" ? errorMessage(error).slice(0, 100) : code})`;
  return new AppError(isUnreadable ? "invalid_format" : "network", `${host} ${description}.`, {
    suggestion: "Check the address, or try again later.",
    recoverable: true,
    cause: error,
  });
}

/** Of several connection attempts, the first error is enough. */
function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  if (error instanceof Error && error.name === "HTTPParserError") return "HPE_INVALID";
  const code = systemCode(error);
  // `fetch` fails with a TypeError whose cause has the reason.
  return code === "" && error instanceof Error && error.cause !== undefined ? codeOf(error.cause) : code;
}
