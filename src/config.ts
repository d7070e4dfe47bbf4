import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { loadEnvFile } from "node:process";
import { z } from "zod";
import { AppError } from "./errors.ts";

const list = z
  .string()
  .default("")
  .transform((text) =>
    text
      .split(",")
      .map((part) => part.trim())
      .filter((part) => part !== ""),
  );
const optionalText = z
  .string()
  .optional()
  .transform((text) => (text === undefined || text.trim() === "" ? undefined : text.trim()));
const optionalUrl = optionalText.pipe(z.url({ protocol: /^https?$/ }).optional());

/** Every variable the program reads, with its default. Documented line by line in `.env.example`. */
const Environment = z.object({
  PORT: z.coerce.number().int().min(0).max(65_535).default(2024),
  HOST: z.string().min(1).default("127.0.0.1"),
  MILLRACE_DATA_DIR: z.string().min(1).default("data"),
  MILLRACE_WORKSPACE: optionalText,
  MILLRACE_GRAPHS: z.string().min(1).default("langgraph.json"),
  MILLRACE_MODEL: z.string().min(1).default("offline"),
  MILLRACE_CONTEXT_LIMIT: z.coerce.number().int().positive().optional(),
  MILLRACE_API_KEYS: list,
  MILLRACE_CORS_ORIGINS: list,
  MILLRACE_ALLOWED_HOSTS: list,
  MILLRACE_BODY_LIMIT: z.coerce
    .number()
    .int()
    .positive()
    .default(8 * 1024 * 1024),
  MILLRACE_MAX_CONCURRENT_RUNS: z.coerce.number().int().positive().default(256),
  MILLRACE_CRASH_BUDGET: z.coerce.number().int().positive().default(3),
  MILLRACE_QUEUE_LIMIT: z.coerce.number().int().positive().default(1000),
  MILLRACE_EVENT_RETENTION_HOURS: z.coerce.number().positive().default(24),
  MILLRACE_APPROVAL_TIMEOUT_HOURS: z.coerce.number().positive().optional(),
  MILLRACE_DRAIN_SECONDS: z.coerce.number().positive().default(30),
  MILLRACE_LOG_LEVEL: z.enum(["trace", "debug", "info", "warn", "error", "silent"]).default("info"),
  OPENAI_API_KEY: optionalText,
  OPENAI_BASE_URL: optionalUrl,
  ZHIPU_API_KEY: optionalText,
  SILICONFLOW_API_KEY: optionalText,
  DEEPSEEK_API_KEY: optionalText,
  DASHSCOPE_API_KEY: optionalText,
  OLLAMA_BASE_URL: optionalUrl,
  LANGSMITH_API_KEY: optionalText,
  LANGSMITH_TRACING: optionalText,
  LANGSMITH_ENDPOINT: optionalUrl,
  LANGSMITH_PROJECT: optionalText,
});

/** What the program was told, checked; paths are absolute. Keys are secrets: never log, trace or send this object. */
export interface Config {
  port: number;
  host: string;
  dataDir: string;
  /** Absolute. `workspaceIsDefault`: nobody named it, so the start creates it. */
  workspace: string;
  workspaceIsDefault: boolean;
  graphs: string;
  model: string;
  /** Tokens a model may read at most; `undefined` leaves it to what is known of the model. */
  contextLimit: number | undefined;
  apiKeys: string[];
  corsOrigins: string[];
  allowedHosts: string[];
  /** Bytes. */
  bodyLimit: number;
  maxConcurrentRuns: number;
  /** Attempts that may end with the process before a run is set aside. */
  crashBudget: number;
  /** Runs that may wait, over all sessions. */
  queueLimit: number;
  /** How long the events of a run stay after its end. */
  eventRetentionHours: number;
  /** How long a question to a person waits before it counts as denied; `undefined`: for ever. */
  approvalTimeoutHours: number | undefined;
  drainSeconds: number;
  logLevel: "trace" | "debug" | "info" | "warn" | "error" | "silent";
  openai: { apiKey: string | undefined; baseUrl: string | undefined };
  /** Keys of the OpenAI-compatible vendors, by provider name. */
  vendorKeys: Record<string, string | undefined>;
  ollamaBaseUrl: string;
  langsmith: {
    enabled: boolean;
    apiKey: string | undefined;
    endpoint: string | undefined;
    project: string | undefined;
  };
}

/** Parses an environment. Throws `config` with every problem listed, each with the variable's name. */
export function loadConfig(env: Record<string, string | undefined>): Config {
  // A variable without a value is one that nobody set.
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ""));
  const parsed = Environment.safeParse(given);
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => `  ${issue.path.join(".")}: ${issue.message}`);
    throw new AppError("config", `The environment has ${problems.length} wrong value(s):\n${problems.join("\n")}`, {
      suggestion: "Correct the variables named above, or remove them to use the defaults in .env.example.",
    });
  }
  const values = parsed.data;
  const loopback = ["127.0.0.1", "localhost", "::1", "[::1]"].includes(values.HOST);
  if (!loopback && values.MILLRACE_API_KEYS.length === 0) {
    throw new AppError("config", `HOST is ${values.HOST}, which others can reach, and MILLRACE_API_KEYS is empty.`, {
      suggestion: "Set MILLRACE_API_KEYS to one or more keys, separated by commas, or listen on 127.0.0.1.",
    });
  }
  return {
    port: values.PORT,
    host: values.HOST,
    dataDir: resolve(values.MILLRACE_DATA_DIR),
    workspace: resolve(values.MILLRACE_WORKSPACE ?? "workspace"),
    workspaceIsDefault: values.MILLRACE_WORKSPACE === undefined,
    graphs: resolve(values.MILLRACE_GRAPHS),
    model: values.MILLRACE_MODEL,
    contextLimit: values.MILLRACE_CONTEXT_LIMIT,
    apiKeys: values.MILLRACE_API_KEYS,
    corsOrigins: values.MILLRACE_CORS_ORIGINS,
    allowedHosts: values.MILLRACE_ALLOWED_HOSTS,
    bodyLimit: values.MILLRACE_BODY_LIMIT,
    maxConcurrentRuns: values.MILLRACE_MAX_CONCURRENT_RUNS,
    crashBudget: values.MILLRACE_CRASH_BUDGET,
    queueLimit: values.MILLRACE_QUEUE_LIMIT,
    eventRetentionHours: values.MILLRACE_EVENT_RETENTION_HOURS,
    approvalTimeoutHours: values.MILLRACE_APPROVAL_TIMEOUT_HOURS,
    drainSeconds: values.MILLRACE_DRAIN_SECONDS,
    logLevel: values.MILLRACE_LOG_LEVEL,
    openai: { apiKey: values.OPENAI_API_KEY, baseUrl: values.OPENAI_BASE_URL },
    vendorKeys: {
      zhipu: values.ZHIPU_API_KEY,
      siliconflow: values.SILICONFLOW_API_KEY,
      deepseek: values.DEEPSEEK_API_KEY,
      qwen: values.DASHSCOPE_API_KEY,
    },
    ollamaBaseUrl: values.OLLAMA_BASE_URL ?? "http://127.0.0.1:11434",
    langsmith: {
      enabled:
        values.LANGSMITH_API_KEY !== undefined &&
        !["false", "0"].includes(values.LANGSMITH_TRACING?.toLowerCase() ?? ""),
      apiKey: values.LANGSMITH_API_KEY,
      endpoint: values.LANGSMITH_ENDPOINT,
      project: values.LANGSMITH_PROJECT,
    },
  };
}

let current: Config | undefined;

/**
 * The process's configuration: `.env` of the working folder, then the environment, read once at the first call.
 * The graph uses it too when it runs under another server.
 */
export function currentConfig(): Config {
  if (current === undefined) {
    if (existsSync(".env")) loadEnvFile(".env");
    current = loadConfig(process.env);
  }
  return current;
}
