import { distance } from "fastest-levenshtein";
import { z } from "zod";
import { ownerLimits, type OwnerLimits } from "./owner-limits.ts";

/** Text that may be missing; blank text is none. */
export const optionalText = z
  .string()
  .optional()
  .transform((text) => text?.trim() || undefined);

/** The variables of where the server listens, and of how it is operated. */
export const operationVariables = {
  PORT: z.coerce.number({ error: "expected a number from 0 to 65535" }).int().min(0).max(65_535).default(2024),
  HOST: z.string().min(1).default("127.0.0.1"),
  MILLRACE_DRAIN_SECONDS: z.coerce.number().positive().default(30),
  MILLRACE_LOAD_SECONDS: z.coerce.number().positive().max(86_400).default(60),
  MILLRACE_LOG_LEVEL: z.enum(["trace", "debug", "info", "warn", "error", "silent"]).default("info"),
  MILLRACE_LOG_FORMAT: z.enum(["auto", "pretty", "json"]).default("auto"),
  MILLRACE_SLOW_REQUEST_SECONDS: z.coerce.number().positive().default(5),
  MILLRACE_METRICS_KEY: optionalText,
  MILLRACE_DATABASE: optionalText,
  MILLRACE_OWNER_LIMITS: ownerLimits,
};

/** Where the server listens, and how it is operated. */
export interface OperationSettings {
  port: number;
  /** Nobody named the port, so another one is taken where it is in use. */
  portIsDefault: boolean;
  host: string;
  drainSeconds: number;
  /** How long a graph may take to be loaded, and its factory to make it. */
  loadSeconds: number;
  logLevel: "trace" | "debug" | "info" | "warn" | "error" | "silent";
  /** `auto`: readable in a terminal, else JSON. */
  logFormat: "auto" | "pretty" | "json";
  /** The address of a database of PostgreSQL, in place of a file. */
  database: string | undefined;
  /** Plain answers that take longer are logged. */
  slowRequestSeconds: number;
  /** The key for `GET /metrics`; `undefined`: only this machine may ask. */
  metricsKey: string | undefined;
  /** What the model calls of owners may use, over all their sessions. */
  ownerLimits: OwnerLimits;
}

/** What the variables say about it. */
export function operationSettings(
  values: z.infer<z.ZodObject<typeof operationVariables>>,
  isPortGiven: boolean,
): OperationSettings {
  return {
    port: values.PORT,
    portIsDefault: !isPortGiven,
    host: values.HOST,
    drainSeconds: values.MILLRACE_DRAIN_SECONDS,
    loadSeconds: values.MILLRACE_LOAD_SECONDS,
    logLevel: values.MILLRACE_LOG_LEVEL,
    logFormat: values.MILLRACE_LOG_FORMAT,
    slowRequestSeconds: values.MILLRACE_SLOW_REQUEST_SECONDS,
    metricsKey: values.MILLRACE_METRICS_KEY,
    ownerLimits: values.MILLRACE_OWNER_LIMITS,
    database: values.MILLRACE_DATABASE,
  };
}

/** A variable that looks like one of ours, and the one that was probably meant. */
export interface UnknownVariable {
  name: string;
  nearest: string | undefined;
}

const prefix = "MILLRACE_";
/** Letters that differ in a typing mistake. */
const mostDifferent = 2;

/** The variables that nobody reads although they are called as ours are, or nearly so; `known` are the names that are read. */
export function unknownVariables(env: Record<string, string | undefined>, known: readonly string[]): UnknownVariable[] {
  return Object.keys(env)
    .filter((name) => !known.includes(name))
    .toSorted()
    .flatMap((name): UnknownVariable[] => {
      const start = `${name.split("_", 1)[0] ?? ""}_`;
      const isOurs = name.startsWith(prefix);
      if (!isOurs && distance(start, prefix) > mostDifferent) return [];
      const nearest = nearestOf(name, known);
      return isOurs || nearest !== undefined ? [{ name, nearest }] : [];
    });
}

function nearestOf(name: string, known: readonly string[]): string | undefined {
  // MILLRACE_PORT is called PORT.
  const rest = name.slice(name.indexOf("_") + 1);
  if (known.includes(rest)) return rest;
  const [nearest] = known
    .map((one) => ({ one, letters: distance(name, one) }))
    .toSorted((left, right) => left.letters - right.letters);
  return nearest !== undefined && nearest.letters <= Math.max(mostDifferent, name.length / 5) ? nearest.one : undefined;
}
