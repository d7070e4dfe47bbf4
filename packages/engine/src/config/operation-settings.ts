import { distance } from "fastest-levenshtein";
import { z } from "zod";
import { ownerLimits, type OwnerLimits } from "./owner-limits.ts";

/** Optional text; blank counts as missing. */
export const optionalText = z
  .string()
  .optional()
  .transform((text) => text?.trim() || undefined);

/** Variables for where the server listens and how it is operated. */
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
  MILLRACE_LEASE_SECONDS: z.coerce.number().min(2).max(3_600).default(5),
  MILLRACE_CODE_VERSION: optionalText,
  MILLRACE_DATABASE_LISTEN_URL: optionalText,
  MILLRACE_OWNER_LIMITS: ownerLimits,
};

/** Where the server listens, and how it is operated. */
export interface OperationSettings {
  port: number;
  /** The port was not configured, so another one is taken if it is in use. */
  portIsDefault: boolean;
  host: string;
  drainSeconds: number;
  /** Time limit for loading a graph, and for each call of its factory. */
  loadSeconds: number;
  logLevel: "trace" | "debug" | "info" | "warn" | "error" | "silent";
  /** `auto`: readable in a terminal, else JSON. */
  logFormat: "auto" | "pretty" | "json";
  /** The URL of a PostgreSQL database, used instead of a file. */
  database: string | undefined;
  /** How long a server on that database may be silent before others take its runs. */
  leaseSeconds: number;
  /** The version of the graphs and of this program: the runs of a lost server go on at one of the same version. Default Millrace's. */
  codeVersion: string | undefined;
  /** The URL of the same database without a pooler in between, where servers hear each other; by default the same. */
  databaseListenUrl: string | undefined;
  /** Slower plain answers are logged. */
  slowRequestSeconds: number;
  /** The key for `GET /metrics`; `undefined`: only this machine may read it. */
  metricsKey: string | undefined;
  /** Usage limits of owners' model calls, over all their sessions. */
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
    leaseSeconds: values.MILLRACE_LEASE_SECONDS,
    codeVersion: values.MILLRACE_CODE_VERSION,
    databaseListenUrl: values.MILLRACE_DATABASE_LISTEN_URL,
  };
}

/** A variable that resembles one of ours, and that one. */
export interface UnknownVariable {
  name: string;
  nearest: string | undefined;
}

const prefix = "MILLRACE_";
/** Maximum edit distance of a typing mistake. */
const maxDifferent = 2;

/** Unknown variables whose names resemble ours; `known` are the names that are read. */
export function unknownVariables(env: Record<string, string | undefined>, known: readonly string[]): UnknownVariable[] {
  return Object.keys(env)
    .filter((name) => !known.includes(name))
    .toSorted()
    .flatMap((name): UnknownVariable[] => {
      const start = `${name.split("_", 1)[0] ?? ""}_`;
      const isOurs = name.startsWith(prefix);
      if (!isOurs && distance(start, prefix) > maxDifferent) return [];
      const nearest = nearestOf(name, known);
      return isOurs || nearest !== undefined ? [{ name, nearest }] : [];
    });
}

function nearestOf(name: string, known: readonly string[]): string | undefined {
  // MILLRACE_PORT is called PORT here.
  const rest = name.slice(name.indexOf("_") + 1);
  if (known.includes(rest)) return rest;
  const [nearest] = known
    .map((one) => ({ one, letters: distance(name, one) }))
    .toSorted((left, right) => left.letters - right.letters);
  return nearest !== undefined && nearest.letters <= Math.max(maxDifferent, name.length / 5) ? nearest.one : undefined;
}
