import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { loadEnvFile } from "node:process";
import { z } from "zod";
import { AppError } from "../errors/errors.ts";
import { type ApiKey, apiKeys, commaList as list, isSecret } from "./api-keys.ts";
import {
  operationSettings,
  type OperationSettings,
  operationVariables,
  optionalText,
  type UnknownVariable,
  unknownVariables,
} from "./operation-settings.ts";
import {
  conversationSettings,
  type ConversationSettings,
  ownerTools,
  toolSettings,
  type ToolSettings,
  webhookSettings,
  type WebhookSettings,
} from "./tool-settings.ts";
import { fileVariable, keysInFiles, SecretFiles } from "./secret-files.ts";
import {
  langsmithSettings,
  type LangsmithSettings,
  type TelemetrySettings,
  telemetrySettings,
  telemetryVariables,
} from "./telemetry-settings.ts";
import { searchEngineNames, webSettings, type WebSettings } from "./web-settings.ts";

/** The name of a namespace, such as a project's; `default` if none is given. */
export const NamespaceName = z
  .string()
  .min(1)
  .max(100)
  .refine((name) => !/[\p{Cc}/\\]/u.test(name), { error: "a namespace has no slashes and no control characters" });
const webUrl = z.url({ protocol: /^https?$/ });
const optionalUrl = optionalText.pipe(webUrl.optional());
const count = z.coerce.number().int().positive();

/** Every variable the program reads, with its default. Documented line by line in `.env.example`. */
const Environment = z.object({
  ...operationVariables,
  MILLRACE_DATA_DIR: z.string().min(1).default("data"),
  MILLRACE_WORKSPACE: optionalText,
  MILLRACE_GRAPHS: z.string().min(1).default("langgraph.json"),
  MILLRACE_MCP: optionalText,
  CONVERSATION_STORAGE_PATH: optionalText,
  CONVERSATION_MAX_CACHE_SIZE: count.default(512),
  CONVERSATION_CACHE_TTL: z.coerce.number().positive().default(300),
  CONVERSATION_LOCK_TIMEOUT: z.coerce.number().positive().max(86_400).default(10),
  CONVERSATION_DEFAULT_NAMESPACE: NamespaceName.optional(),
  MILLRACE_MODEL: z.string().min(1).default("auto"),
  MILLRACE_TITLE_MODEL: optionalText,
  MILLRACE_EMBEDDING_MODEL: optionalText,
  MILLRACE_CONTEXT_LIMIT: count.optional(),
  MILLRACE_API_KEYS: apiKeys,
  MILLRACE_CORS_ORIGINS: list,
  MILLRACE_LOCAL_PAGES: z.enum(["0", "1"]).default("0"),
  MILLRACE_CONSOLE: z.enum(["on", "off"]).default("on"),
  MILLRACE_ALLOWED_HOSTS: list,
  MILLRACE_ALLOW_TRUNCATE: z.enum(["0", "1"]).default("0"),
  MILLRACE_BODY_LIMIT: count.default(8 * 1024 * 1024),
  MILLRACE_MAX_REQUESTS: count.default(2000),
  MILLRACE_REQUEST_SECONDS: z.coerce.number().positive().default(60),
  MILLRACE_MAX_CONCURRENT_RUNS: count.default(256),
  MILLRACE_QUEUE_LIMIT: count.default(1000),
  MILLRACE_RUN_SECONDS: z.coerce.number().positive().max(2_000_000).optional(),
  MILLRACE_CRASH_BUDGET: count.default(3),
  MILLRACE_EVENT_RETENTION_HOURS: z.coerce.number().positive().default(24),
  MILLRACE_APPROVAL_TIMEOUT_HOURS: z.coerce.number().positive().optional(),
  MILLRACE_TOOL_RATE: z.coerce.number().positive().optional(),
  MILLRACE_MODEL_RATE: z.coerce.number().positive().optional(),
  MILLRACE_MODEL_REQUESTS: count.optional(),
  MILLRACE_TOOLKITS: list,
  MILLRACE_OWNER_TOOLS: ownerTools,
  MILLRACE_SANDBOX: z.enum(["auto", "off"]).default("auto"),
  MILLRACE_NGSPICE: optionalText,
  MILLRACE_WATCH_FILES: z.enum(["auto", "on", "off"]).default("auto"),
  MILLRACE_MEMORY: z.enum(["on", "off"]).default("on"),
  MILLRACE_INDEX_FILES: count.default(2000),
  MILLRACE_INDEX_PIECES: count.default(10_000),
  MILLRACE_INDEX_BYTES: count.default(16 * 1024 * 1024),
  MILLRACE_TOOL_HOOKS: z.enum(["on", "off"]).default("on"),
  MILLRACE_TOOL_HELP: z.enum(["comments", "run"]).default("comments"),
  MILLRACE_CRITICAL_FILES: list,
  MILLRACE_PLANNER_URL: optionalUrl,
  MILLRACE_PLANNER_KEY: optionalText,
  MILLRACE_CONFIRM_TASKS: z.enum(["on", "off"]).default("off"),
  OPENAI_API_KEY: optionalText,
  OPENAI_BASE_URL: optionalUrl,
  ZHIPU_API_KEY: optionalText,
  SILICONFLOW_API_KEY: optionalText,
  DEEPSEEK_API_KEY: optionalText,
  DASHSCOPE_API_KEY: optionalText,
  OLLAMA_BASE_URL: optionalUrl,
  MILLRACE_SEARCH: z.enum(["off", ...searchEngineNames]).optional(),
  MILLRACE_WEB_FETCH: z.enum(["on", "off"]).optional(),
  MILLRACE_WEB_ALLOW: list,
  MILLRACE_WEBHOOK_ALLOW: list,
  MILLRACE_WEBHOOK_SECRET: optionalText,
  GOOGLE_SEARCH_API_KEY: optionalText,
  GOOGLE_SEARCH_CX: optionalText,
  GOOGLE_SEARCH_URL: webUrl.default("https://www.googleapis.com/customsearch/v1"),
  BING_SEARCH_API_KEY: optionalText,
  BING_SEARCH_URL: webUrl.default("https://api.bing.microsoft.com/v7.0/search"),
  SEARXNG_URL: optionalUrl,
  ...telemetryVariables,
});

/** The validated configuration; paths are absolute. It contains secrets: never log, trace or send it. */
export interface Config extends ToolSettings, OperationSettings {
  /** All variables that are set, as given. */
  given: Readonly<Record<string, string>>;
  /** Secrets read from files, with their current values. */
  secretFiles: SecretFiles;
  dataDir: string;
  /** Absolute. With `workspaceIsDefault` it was not configured and is created at the start. */
  workspace: string;
  workspaceIsDefault: boolean;
  graphs: string;
  /** The file of MCP servers. It must exist only if configured. */
  mcpFile: string;
  mcpFileIsDefault: boolean;
  conversations: ConversationSettings;
  model: string;
  /** The model that writes titles; `undefined`: titles follow a rule. */
  titleModel: string | undefined;
  /** The embedding model for semantic search; `undefined`: no such search. */
  embeddingModel: string | undefined;
  /** Maximum context tokens of a model; `undefined`: what is known of the model. */
  contextLimit: number | undefined;
  apiKeys: ApiKey[];
  corsOrigins: string[];
  /** Whether pages from this machine may call without being listed. */
  localPages: boolean;
  /** Whether the console is served at `/console/`. */
  console: boolean;
  allowedHosts: string[];
  /** Whether clients may delete everything at once: for their test suites only. */
  allowTruncate: boolean;
  /** Bytes. */
  bodyLimit: number;
  /** Concurrent requests over all callers. */
  maxRequests: number;
  /** Time limit for receiving a request. */
  requestSeconds: number;
  maxConcurrentRuns: number;
  /** Attempts that may crash the process before a run is set aside. */
  crashBudget: number;
  /** Time limit of a run's attempt; `undefined`: none. */
  runSeconds: number | undefined;
  /** Queued runs over all sessions. */
  queueLimit: number;
  /** How long a run's events are kept after its end. */
  eventRetentionHours: number;
  /** How long a question waits before it is denied; `undefined`: for ever. */
  approvalTimeoutHours: number | undefined;
  /** Tool calls and model calls started per second, over all runs; `undefined`: unlimited. */
  toolRate: number | undefined;
  modelRate: number | undefined;
  /** Concurrent model calls over all runs; `undefined`: unlimited. */
  modelRequests: number | undefined;
  openai: { apiKey: string | undefined; baseUrl: string | undefined };
  /** Keys of OpenAI-compatible vendors, by provider name. */
  vendorKeys: Record<string, string | undefined>;
  ollamaBaseUrl: string;
  web: WebSettings;
  webhooks: WebhookSettings;
  langsmith: LangsmithSettings;
  /** Where OpenTelemetry data is sent; `undefined`: nowhere. */
  telemetry: TelemetrySettings | undefined;
}

/** The data folder is never in the workspace: otherwise a tool could write there which programs are started. */
function mcpFileOf(values: z.infer<typeof Environment>): Pick<Config, "mcpFile" | "mcpFileIsDefault"> {
  const { MILLRACE_MCP: named, MILLRACE_DATA_DIR: folder } = values;
  return { mcpFile: resolve(named ?? join(folder, "mcp.json")), mcpFileIsDefault: named === undefined };
}

/** The names of all variables, in the order of `.env.example`. */
export const variableNames: readonly string[] = Object.keys(Environment.shape);

/** The values of all variables that have one, as `loadConfig` read them. */
export function valuesOf(given: Config["given"]): Record<string, unknown> {
  return Environment.parse(given);
}

/** An empty variable counts as unset. */
function givenOf(env: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(variableNames.flatMap((name) => (env[name] ? [[name, env[name]]] : [])));
}

/** Parses an environment. Throws `config` with every problem listed, each with the variable's name. */
export function loadConfig(env: Record<string, string | undefined>): Config {
  const secretFiles = new SecretFiles(env, [...new Set([...variableNames, ...keysInFiles(env)])]);
  const given = { ...givenOf(env), ...secretFiles.values() };
  const parsed = Environment.safeParse(given);
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => `  ${issue.path.join(".")}: ${issue.message}`);
    throw new AppError("config", `The environment has ${problems.length} wrong value(s):\n${problems.join("\n")}`, {
      suggestion: "Correct the variables named above, or remove them to use the defaults in .env.example.",
    });
  }
  const values = parsed.data;
  return {
    given,
    secretFiles,
    ...operationSettings(values, given["PORT"] !== undefined),
    dataDir: resolve(values.MILLRACE_DATA_DIR),
    workspace: resolve(values.MILLRACE_WORKSPACE ?? "workspace"),
    workspaceIsDefault: values.MILLRACE_WORKSPACE === undefined,
    graphs: resolve(values.MILLRACE_GRAPHS),
    ...mcpFileOf(values),
    conversations: conversationSettings(values),
    model: values.MILLRACE_MODEL,
    titleModel: values.MILLRACE_TITLE_MODEL,
    embeddingModel: values.MILLRACE_EMBEDDING_MODEL,
    contextLimit: values.MILLRACE_CONTEXT_LIMIT,
    apiKeys: values.MILLRACE_API_KEYS,
    corsOrigins: values.MILLRACE_CORS_ORIGINS,
    localPages: values.MILLRACE_LOCAL_PAGES === "1",
    console: values.MILLRACE_CONSOLE === "on",
    allowedHosts: values.MILLRACE_ALLOWED_HOSTS,
    allowTruncate: values.MILLRACE_ALLOW_TRUNCATE === "1",
    bodyLimit: values.MILLRACE_BODY_LIMIT,
    maxRequests: values.MILLRACE_MAX_REQUESTS,
    requestSeconds: values.MILLRACE_REQUEST_SECONDS,
    maxConcurrentRuns: values.MILLRACE_MAX_CONCURRENT_RUNS,
    crashBudget: values.MILLRACE_CRASH_BUDGET,
    runSeconds: values.MILLRACE_RUN_SECONDS,
    queueLimit: values.MILLRACE_QUEUE_LIMIT,
    eventRetentionHours: values.MILLRACE_EVENT_RETENTION_HOURS,
    approvalTimeoutHours: values.MILLRACE_APPROVAL_TIMEOUT_HOURS,
    toolRate: values.MILLRACE_TOOL_RATE,
    modelRate: values.MILLRACE_MODEL_RATE,
    modelRequests: values.MILLRACE_MODEL_REQUESTS,
    ...toolSettings(values),
    openai: { apiKey: values.OPENAI_API_KEY, baseUrl: values.OPENAI_BASE_URL },
    vendorKeys: {
      zhipu: values.ZHIPU_API_KEY,
      siliconflow: values.SILICONFLOW_API_KEY,
      deepseek: values.DEEPSEEK_API_KEY,
      qwen: values.DASHSCOPE_API_KEY,
    },
    ollamaBaseUrl: values.OLLAMA_BASE_URL ?? "http://127.0.0.1:11434",
    web: webSettings(values),
    webhooks: webhookSettings(values),
    langsmith: langsmithSettings(values),
    telemetry: telemetrySettings(values),
  };
}

/** Variables of the environment that are probably misspelled. */
export function unknownNames(): UnknownVariable[] {
  return unknownVariables(process.env, [...variableNames, ...variableNames.filter(isSecret).map(fileVariable)]);
}

/** A variable that a configuration file refers to, since secrets are kept in the environment only. */
export function environmentVariable(name: string): string | undefined {
  return process.env[name];
}

/** Sets variables that are unset: the environment wins over a file. */
export function addVariables(values: Record<string, string | undefined>): void {
  for (const [name, value] of Object.entries(values)) process.env[name] ??= value;
}

/** Overwrites variables: command-line settings win over the environment. */
export function setVariables(values: Record<string, string>): void {
  Object.assign(process.env, values);
}

let current: Config | undefined;

/**
 * The configured toolkits. Unlike `currentConfig` it caches nothing: the workflow's module calls it when loaded, and
 * tests may set variables afterwards.
 */
export function currentToolkits(): Config["toolkits"] {
  if (current !== undefined) return current.toolkits;
  if (existsSync(".env")) loadEnvFile(".env");
  return loadConfig(process.env).toolkits;
}

/**
 * The process's configuration: the environment, then `.env` of the working folder, then `defaults`, read once at the
 * first call. The graph also uses it under another server.
 */
export function currentConfig(defaults: Record<string, string> = {}): Config {
  if (current === undefined) {
    if (existsSync(".env")) loadEnvFile(".env");
    addVariables(defaults);
    current = loadConfig(process.env);
  }
  return current;
}
