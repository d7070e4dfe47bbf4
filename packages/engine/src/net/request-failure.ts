import { AppError, errorMessage, isAppError } from "../errors/errors.ts";
import { systemCode } from "../errors/system-code.ts";

/** What the codes of node and undici mean, by what they begin with. */
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
 * What went wrong with a request, as an AppError about its host: no words of node, no address beyond the host, since a
 * query may hold a key. `network`, or `invalid_format` for an answer that is none.
 */
export function requestFailure(error: unknown, host: string): AppError {
  if (isAppError(error)) return error;
  const code = codeOf(error);
  const [, known] = failures.find(([pattern]) => pattern.test(code)) ?? [];
  const isUnreadable = known === "sent an answer that cannot be read";
  const said = known ?? `could not be asked (${code === "" ? errorMessage(error).slice(0, 100) : code})`;
  return new AppError(isUnreadable ? "invalid_format" : "network", `${host} ${said}.`, {
    suggestion: "Check the address, or try again later.",
    recoverable: true,
    cause: error,
  });
}

/** Of several tries to connect, the first tells enough. */
function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  if (error instanceof Error && error.name === "HTTPParserError") return "HPE_INVALID";
  const code = systemCode(error);
  // `fetch` fails with a TypeError whose cause says why.
  return code === "" && error instanceof Error && error.cause !== undefined ? codeOf(error.cause) : code;
}
