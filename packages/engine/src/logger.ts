import { AsyncLocalStorage } from "node:async_hooks";
import { pino, type DestinationStream, type LoggerOptions, type Logger as PinoLogger } from "pino";

/** A structured logger: an event name and fields. Prompts, answers and keys never go above `debug` (LOG-02). */
export type Logger = PinoLogger;

/** Fields added to every line logged within some work, also by tools and graphs: `logFields.run(fields, work)`. */
export const logFields = new AsyncLocalStorage<Record<string, string | undefined>>();

const secretFields = ["apiKey", "api_key", "apiKeys", "authorization", "x-api-key", "cookie", "password", "token"];

/**
 * Logs lines of JSON with time and level, and errors with type, message and stack (LOG-01), to standard output unless a
 * `destination` is given. Secret fields are redacted.
 */
export function createLogger(level: string, destination?: DestinationStream): Logger {
  const options: LoggerOptions = {
    level,
    mixin: () => ({ ...logFields.getStore() }),
    redact: {
      paths: secretFields.flatMap((field) => [`["${field}"]`, `*["${field}"]`, `*.*["${field}"]`]),
      censor: "[redacted]",
    },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}
