import { pino, type Logger as PinoLogger } from "pino";

/** A structured logger: an event name and fields. Prompts, answers and keys never go above `debug` (LOG-02). */
export type Logger = PinoLogger;

const secretFields = ["apiKey", "api_key", "apiKeys", "authorization", "x-api-key", "cookie", "password", "token"];

/** Lines of JSON on standard output; fields that hold secrets are replaced (SEC-01). */
export function createLogger(level: string): Logger {
  return pino({
    level,
    redact: {
      paths: secretFields.flatMap((field) => [`["${field}"]`, `*["${field}"]`, `*.*["${field}"]`]),
      censor: "[redacted]",
    },
  });
}
