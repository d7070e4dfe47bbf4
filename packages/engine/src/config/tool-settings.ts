import { isAbsolute, resolve } from "node:path";
import { AppError } from "../errors/errors.ts";
import { commaList } from "./api-keys.ts";

/** What tools may do, and what is confirmed and reported. */
export interface ToolSettings {
  /** Whether anything watches tool calls. */
  toolHooks: boolean;
  /** How the help of the user's own programs is found: read from their comments, or asked of them by running them. */
  toolHelp: "comments" | "run";
  /** Names of the toolkits that runs may use; none: the default ones. */
  toolkits: string[];
  ownerTools: OwnerTools;
  /** Whether commands run in a sandbox where the machine has one. */
  sandbox: "auto" | "off";
  /** Whether the files of the workspace are watched; `auto`: where the toolkit of circuits is there. */
  watchFiles: "auto" | "on" | "off";
  /** The program of ngspice that simulates, in a sandbox; `undefined`: the simulator that comes along does. */
  ngspice: string | undefined;
  /** Patterns of files whose change has to be confirmed, besides those that always have. */
  criticalFiles: string[];
  /** Where the planner's tools find the tasks; `undefined`: in the server's own. */
  planner: PlannerSettings | undefined;
  /** Whether the deletion of a task has to be confirmed. */
  confirmTasks: boolean;
  /** Whether facts and preferences of users are kept from one session to the next. */
  memory: boolean;
  index: IndexLimits;
}

/** What the index of the workspace by meaning may hold. */
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

/** The tools as the environment has them. Throws `config` where that cannot be said. */
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

/** Where a system's own package puts it. */
const usualNgspice = "/usr/bin/ngspice";

function ngspiceOf(value: string | undefined): string | undefined {
  if (value === undefined || value === "off") return undefined;
  if (value === "on") return usualNgspice;
  if (isAbsolute(value)) return value;
  throw new AppError("config", `MILLRACE_NGSPICE is "${value}", which is no absolute path.`, {
    suggestion: `Write on (${usualNgspice}), off, or the whole path of the program.`,
  });
}

/**
 * The toolkits and single tools that an owner, or a user of `auth.path`, may use. Owners without an entry may use all.
 */
export type OwnerTools = Readonly<Record<string, readonly string[]>>;

/** What a user is called is up to the rules: an address of mail, or one of the web. The last colon is the one that counts. */
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

/** Another service that keeps the planner's tasks. The key is a secret: never log, trace or send this object. */
export interface PlannerSettings {
  /** What stands before `/api/tasks`, without a slash at the end. */
  baseUrl: string;
  apiKey: string | undefined;
}

/** The service that the environment names, if any. Throws `config` for a key without an address. */
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
  /** The most sessions kept in memory, and how long an unused one stays there. */
  cachedSessions: number;
  cacheSeconds: number;
  /** How long what changes a session waits for what changes it before. */
  lockSeconds: number;
  /** Where a new thread becomes the current one; `undefined`: nowhere. */
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
  /** Hosts, or `host:port`, that may receive webhooks although they are not in the public internet. */
  allowed: string[];
  /** What the messages are signed with; `undefined`: they are not signed. */
  secret: string | undefined;
}

/** What the environment says of webhooks. */
export function webhookSettings(values: {
  MILLRACE_WEBHOOK_ALLOW: string[];
  MILLRACE_WEBHOOK_SECRET?: string | undefined;
}): WebhookSettings {
  return { allowed: values.MILLRACE_WEBHOOK_ALLOW, secret: values.MILLRACE_WEBHOOK_SECRET };
}
