import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { z } from "zod";
import { AppError, errorMessage } from "@millrace/engine/errors/errors";

/** Reads an environment variable; secrets are never in the file. */
export type ReadVariable = (name: string) => string | undefined;

/** Rules for a tool: its effect class, and whether each call needs approval. */
export interface ToolRule {
  effect: "pure" | "idempotent" | "unsafe";
  approval: "ask" | "allow";
}

/** A server's transport. `environment` and `headers` contain secrets: never log or send this object. */
export type McpTransport =
  | { kind: "stdio"; command: string; args: string[]; cwd: string; environment: Record<string, string> }
  | { kind: "http"; url: string; headers: Record<string, string> };

/** One configured server. */
export interface McpServerConfig {
  name: string;
  transport: McpTransport;
  /** Secrets from the environment, removed from error texts. */
  secrets: readonly string[];
  /** Time limit of a call. */
  timeoutSeconds: number;
  /** Time limit of a start, until its tools are listed. */
  connectSeconds: number;
  /** The offered tools by their server names; `undefined`: all. */
  only: string[] | undefined;
  ruleOf(tool: string): ToolRule;
}

/** The usable servers, and why others are not used. */
export interface McpSettings {
  servers: McpServerConfig[];
  problems: { server: string; message: string }[];
}

/** A variable in a header. */
const placeholder = /\$\{([^}]*)\}/gu;
const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/u;
/** Two underscores separate the server's name from the tool's, so neither contains them. */
const serverName = /^(?!.*__)[a-z][a-z0-9_-]{0,23}$/u;

const Rule = z.strictObject({
  effect: z.enum(["pure", "idempotent", "unsafe"]).optional(),
  approval: z.enum(["ask", "allow"]).optional(),
});
const shared = {
  enabled: z.boolean().default(true),
  timeout_seconds: z.number().positive().max(3_600).default(60),
  connect_seconds: z.number().positive().max(300).default(10),
  tools: z.array(z.string().min(1)).optional(),
  rules: z.record(z.string(), Rule).default({}),
};
const ProcessServer = z.strictObject({
  type: z.literal("stdio").optional(),
  command: z.string().min(1),
  args: z.array(z.string()).default([]),
  cwd: z.string().min(1).optional(),
  env: z
    .array(z.string().regex(variableName), {
      error: "expected a list of variable names; their values stay in the environment",
    })
    .default([]),
  ...shared,
});
const HttpServer = z.strictObject({
  type: z.literal("http").optional(),
  url: z.url({ protocol: /^https?$/u }),
  headers: z.record(z.string().min(1), z.string()).default({}),
  ...shared,
});
const McpFile = z.strictObject({ mcpServers: z.record(z.string(), z.looseObject({})) });

/** Environment variables passed to servers; all others are withheld. */
const inherited = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ", "TMPDIR"];

/**
 * Reads the file of MCP servers. An invalid server is reported as a problem and the others are used. Throws `config` if
 * the file itself is unreadable.
 */
export function readMcpConfig(file: string, readVariable: ReadVariable): McpSettings {
  return readMcpEntries(readMcpFile(file), dirname(file), readVariable);
}

/** The same for entries that were read; paths begin at `folder`. */
export function readMcpEntries(
  entries: Readonly<Record<string, McpEntry>>,
  folder: string,
  readVariable: ReadVariable,
): McpSettings {
  const settings: McpSettings = { servers: [], problems: [] };
  for (const [name, entry] of Object.entries(entries)) {
    if (entry["enabled"] === false) continue;
    try {
      settings.servers.push(readMcpServer(name, entry, folder, readVariable));
    } catch (error) {
      settings.problems.push({ server: name, message: errorMessage(error) });
    }
  }
  return settings;
}

/** One server as the file has it. */
export type McpEntry = Readonly<Record<string, unknown>>;

/** The entries of the file as they stand there. Throws `config` if it is unreadable. */
export function readMcpFile(file: string): Record<string, McpEntry> {
  const suggestion = 'It has to hold {"mcpServers":{"name":{"command":"…","args":[…]}}}; see docs/toolkits/mcp.md.';
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    const message = `The file of MCP servers ${file} cannot be read: ${errorMessage(error)}.`;
    throw new AppError("config", message, { suggestion, cause: error });
  }
  const parsed = McpFile.safeParse(content);
  if (parsed.success) return parsed.data.mcpServers;
  throw new AppError("config", `The file of MCP servers ${file} is wrong: ${listed(parsed.error)}.`, { suggestion });
}

/** Throws `config` for a name that no server may have. */
export function checkServerName(name: string): void {
  if (!serverName.test(name)) {
    throw wrong("its name must be at most 24 lower-case letters, digits, - and single _, beginning with a letter");
  }
}

/** What an entry says. Throws `config` with the reason if it cannot be used. */
export function readMcpServer(
  name: string,
  entry: McpEntry,
  folder: string,
  readVariable: ReadVariable,
): McpServerConfig {
  checkServerName(name);
  const parsed = ("url" in entry ? HttpServer : ProcessServer).safeParse(entry);
  if (!parsed.success) throw wrong(listed(parsed.error));
  const server = parsed.data;
  return {
    name,
    transport: "url" in server ? toHttp(server, readVariable) : toProcess(server, folder, readVariable),
    secrets: variablesOf(server).map((variable) => valueOf(variable, readVariable)),
    timeoutSeconds: server.timeout_seconds,
    connectSeconds: server.connect_seconds,
    only: server.tools,
    ruleOf: (tool) => ({
      effect: "unsafe",
      approval: "ask",
      ...ruleIn(server.rules, "*"),
      ...ruleIn(server.rules, tool),
    }),
  };
}

/** The variables a server refers to. */
function variablesOf(server: z.infer<typeof ProcessServer> | z.infer<typeof HttpServer>): string[] {
  if (!("url" in server)) return server.env;
  return Object.values(server.headers).flatMap((text) =>
    [...text.matchAll(placeholder)].map(([, variable = ""]) => variable),
  );
}

/** A rule's set fields. */
function ruleIn(rules: Record<string, z.infer<typeof Rule>>, tool: string): Partial<ToolRule> {
  const { effect, approval } = (Object.hasOwn(rules, tool) ? rules[tool] : undefined) ?? {};
  return { ...(effect === undefined ? {} : { effect }), ...(approval === undefined ? {} : { approval }) };
}

function toProcess(server: z.infer<typeof ProcessServer>, folder: string, readVariable: ReadVariable): McpTransport {
  const given = inherited.flatMap((name) => {
    const value = readVariable(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  const named = server.env.map((name) => [name, valueOf(name, readVariable)] as const);
  return {
    kind: "stdio",
    command: server.command,
    args: server.args,
    cwd: resolve(folder, server.cwd ?? "."),
    environment: Object.fromEntries([...given, ...named]),
  };
}

function toHttp(server: z.infer<typeof HttpServer>, readVariable: ReadVariable): McpTransport {
  const headers = Object.entries(server.headers).map(([name, text]) => [
    name,
    text.replaceAll(placeholder, (_, variable: string) => valueOf(variable, readVariable)),
  ]);
  return { kind: "http", url: server.url, headers: Object.fromEntries(headers) };
}

function valueOf(name: string, readVariable: ReadVariable): string {
  const value = readVariable(name);
  if (value === undefined || value === "") throw wrong(`the variable ${name} is not set in the environment`);
  return value;
}

function wrong(message: string): AppError {
  return new AppError("config", message);
}

function listed(error: z.ZodError): string {
  return error.issues.map(({ path, message }) => `${path.join(".") || "(file)"}: ${message}`).join("; ");
}
