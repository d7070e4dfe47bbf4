import { isAbsolute, resolve } from "node:path";
import { AppError } from "../errors/errors.ts";
import { commaList } from "./api-keys.ts";

/** Permissions of tools, and what is confirmed and reported. */
export interface ToolSettings {
  /** Whether tool calls have hooks. */
  toolHooks: boolean;
  /** How help for the user's own programs is found: in their comments, or by running them. */
  toolHelp: "comments" | "run";
  /** The toolkits that runs may use; empty: the default ones. */
  toolkits: string[];
  ownerTools: OwnerTools;
  /** Whether commands run in a sandbox if the machine has one. */
  sandbox: "auto" | "off";
  /** Whether workspace files are watched; `auto`: with the circuits toolkit. */
  watchFiles: "auto" | "on" | "off";
  /** The ngspice program, run in a sandbox; `undefined`: the built-in simulator. */
  ngspice: string | undefined;
  /** Patterns of further files whose change must be confirmed. */
  criticalFiles: string[];
  /** The planner's task service; `undefined`: the server's own. */
  planner: PlannerSettings | undefined;
  /** Whether deleting a task must be confirmed. */
  confirmTasks: boolean;
  /** Whether users' facts and preferences are remembered across sessions. */
  memory: boolean;
  index: IndexLimits;
}

/** Limits of the workspace's semantic index. */
export interface IndexLimits {
  files: number;
  pieces: number;
  /** Of all files together. */
  bytes: number;
}

/** What the environment says of tools. */
export interface ToolEnvironment {
  MILLRACE_TOOL_HOOKS: "on" | "off";
  MILLRACE_TOOL_HELP: "comments" | "run";
  MILLRACE_TOOLKITS: string[];
  MILLRACE_OWNER_TOOLS: OwnerTools;
  MILLRACE_SANDBOX: "auto" | "off";
  MILLRACE_WATCH_FILES: "auto" | "on" | "off";
  MILLRACE_NGSPICE?: string | undefined;
  MILLRACE_CRITICAL_FILES: string[];
  MILLRACE_PLANNER_URL?: string | undefined;
  MILLRACE_PLANNER_KEY: string | undefined;
  MILLRACE_CONFIRM_TASKS: "on" | "off";
  MILLRACE_MEMORY: "on" | "off";
  MILLRACE_INDEX_FILES: number;
  MILLRACE_INDEX_PIECES: number;
  MILLRACE_INDEX_BYTES: number;
}

/** Parses the tool settings. Throws `config` for a contradiction. */
export function toolSettings(values: ToolEnvironment): ToolSettings {
  return {
    toolHooks: values.MILLRACE_TOOL_HOOKS === "on",
    toolHelp: values.MILLRACE_TOOL_HELP,
    toolkits: values.MILLRACE_TOOLKITS,
    ownerTools: values.MILLRACE_OWNER_TOOLS,
    sandbox: values.MILLRACE_SANDBOX,
    watchFiles: values.MILLRACE_WATCH_FILES,
    ngspice: ngspiceOf(values.MILLRACE_NGSPICE),
    criticalFiles: values.MILLRACE_CRITICAL_FILES,
    planner: plannerSettings(values),
    confirmTasks: values.MILLRACE_CONFIRM_TASKS === "on",
    memory: values.MILLRACE_MEMORY === "on",
    index: {
      files: values.MILLRACE_INDEX_FILES,
      pieces: values.MILLRACE_INDEX_PIECES,
      bytes: values.MILLRACE_INDEX_BYTES,
    },
  };
}

/** Where system packages install it. */
const defaultNgspice = "/usr/bin/ngspice";

function ngspiceOf(value: string | undefined): string | undefined {
  if (value === undefined || value === "off") return undefined;
  if (value === "on") return defaultNgspice;
  if (isAbsolute(value)) return value;
  throw new AppError("config", `MILLRACE_NGSPICE is "${value}", which is no absolute path.`, {
    suggestion: `Write on (${defaultNgspice}), off, or the whole path of the program.`,
  });
}

/** The toolkits and tools that an owner, or a user of `auth.path`, may use. Owners without an entry may use all. */
export type OwnerTools = Readonly<Record<string, readonly string[]>>;

/** User names come from the rules and may be mail or web addresses: the last colon counts. */
const entryForm = /^(?<owner>[A-Za-z0-9][^\s,]{0,199})\s*:(?<names>[\w\s.-]*)$/u;

/** A list of `owner: name name` in the environment; an error names the position of the entry. */
export const ownerTools = commaList.transform((entries, context): OwnerTools => {
  const limits = new Map<string, string[]>();
  for (const [index, entry] of entries.entries()) {
    const { owner = "", names = "" } = entryForm.exec(entry)?.groups ?? {};
    const message =
      owner === ""
        ? "expected owner:name name, such as guest:files read_tasks"
        : limits.has(owner)
          ? `${owner} has an entry already`
          : undefined;
    if (message !== undefined) context.addIssue({ code: "custom", message: `entry ${index + 1}: ${message}` });
    else limits.set(owner, names.split(/\s+/u).filter(Boolean));
  }
  return Object.fromEntries(limits);
});

/** An external service for the planner's tasks. The key is a secret: never log, trace or send this object. */
export interface PlannerSettings {
  /** The prefix of `/api/tasks`, without a trailing slash. */
  baseUrl: string;
  apiKey: string | undefined;
}

/** The service in the environment, if any. Throws `config` for a key without an address. */
function plannerSettings(values: {
  MILLRACE_PLANNER_URL?: string | undefined;
  MILLRACE_PLANNER_KEY: string | undefined;
}): PlannerSettings | undefined {
  const { MILLRACE_PLANNER_URL: address, MILLRACE_PLANNER_KEY: apiKey } = values;
  if (address !== undefined) return { baseUrl: address.replace(/\/+$/u, ""), apiKey };
  if (apiKey === undefined) return undefined;
  throw new AppError("config", "MILLRACE_PLANNER_KEY is set, and MILLRACE_PLANNER_URL is not.", {
    suggestion: "Set MILLRACE_PLANNER_URL to the address of the service that keeps the tasks, or remove the key.",
  });
}

/** How conversations are stored. */
export interface ConversationSettings {
  /** Absolute; `undefined`: the data folder. */
  folder: string | undefined;
  /** Maximum sessions in the cache, and how long an unused one stays there. */
  cachedSessions: number;
  cacheSeconds: number;
  /** How long a change of a session waits for earlier ones. */
  lockSeconds: number;
  /** The namespace in which new threads become current; `undefined`: none. */
  defaultNamespace: string | undefined;
}

/** What the environment says of it. */
export function conversationSettings(values: {
  CONVERSATION_STORAGE_PATH: string | undefined;
  CONVERSATION_MAX_CACHE_SIZE: number;
  CONVERSATION_CACHE_TTL: number;
  CONVERSATION_LOCK_TIMEOUT: number;
  CONVERSATION_DEFAULT_NAMESPACE?: string | undefined;
}): ConversationSettings {
  const { CONVERSATION_STORAGE_PATH: folder } = values;
  return {
    folder: folder === undefined ? undefined : resolve(folder),
    cachedSessions: values.CONVERSATION_MAX_CACHE_SIZE,
    cacheSeconds: values.CONVERSATION_CACHE_TTL,
    lockSeconds: values.CONVERSATION_LOCK_TIMEOUT,
    defaultNamespace: values.CONVERSATION_DEFAULT_NAMESPACE,
  };
}

/** Settings of webhooks. A secret: never log, trace or send this object. */
export interface WebhookSettings {
  /** Hosts, or `host:port`, outside the public internet that may receive webhooks. */
  allowed: string[];
  /** The signing secret; `undefined`: unsigned. */
  secret: string | undefined;
}

/** What the environment says of webhooks. */
export function webhookSettings(values: {
  MILLRACE_WEBHOOK_ALLOW: string[];
  MILLRACE_WEBHOOK_SECRET?: string | undefined;
}): WebhookSettings {
  return { allowed: values.MILLRACE_WEBHOOK_ALLOW, secret: values.MILLRACE_WEBHOOK_SECRET };
}
