import { existsSync, realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative, sep } from "node:path";
import { environmentVariable, type Config } from "@millrace/engine/config/config";
import { AppError, explain, isAppError } from "@millrace/engine/errors/errors";
import type { Logger } from "@millrace/engine/logger";
import type { OpenedToolkit, ToolkitServer } from "../../src/toolkits/toolkit.ts";
import type { ToolSource } from "../../src/tools/runtime/tool.ts";
import { type McpEntry, type McpServerConfig, readMcpEntries, readMcpFile, type ReadVariable } from "./mcp-config.ts";
import { mcpKey, McpServers } from "./mcp-servers.ts";

/** The tools of all given MCP servers. Nothing is started or loaded before the first use. */
export function createMcpSource(
  servers: readonly McpServerConfig[],
  logger: Pick<Logger, "warn">,
  { retrySeconds }: { retrySeconds?: number } = {},
): ToolSource {
  const all = new McpServers({ file: "", readVariable: () => undefined, logger, retrySeconds });
  for (const server of servers) all.use(server);
  return all;
}

/** Opens the configured MCP servers as a tool source, and for the routes that change them. */
export function openMcp({ config, workspace, logger, services, addToolSource }: ToolkitServer): OpenedToolkit {
  const servers = openMcpServers(config, workspace, logger);
  services.add(mcpKey, servers);
  addToolSource(servers);
  return { close: () => servers.close() };
}

/**
 * The servers of the configured file. A broken file is logged and ignored. Throws `config` if a named file is missing, or
 * lies in the workspace, where tools could write what programs start.
 */
export function openMcpServers(
  { mcpFile: file, mcpFileIsDefault }: Pick<Config, "mcpFile" | "mcpFileIsDefault">,
  workspace: string,
  logger: Pick<Logger, "warn" | "error">,
  { readVariable = environmentVariable }: { readVariable?: ReadVariable } = {},
): McpServers {
  const checkFile = (): void => refuseInWorkspace(file, workspace);
  const servers = new McpServers({ file, readVariable, logger, checkFile });
  if (!existsSync(file)) {
    if (mcpFileIsDefault) return servers;
    throw new AppError("config", `The file of MCP servers ${file} is not there.`, {
      suggestion: "Create it, or leave MILLRACE_MCP empty.",
    });
  }
  checkFile();
  const entries = read(file, logger);
  const { servers: used, problems } = readMcpEntries(entries, dirname(file), readVariable);
  for (const { server, message } of problems) logger.error({ server, reason: message, file }, "mcp_server_not_used");
  const reasons = new Map(problems.map(({ server, message }) => [server, message]));
  for (const [name, entry] of Object.entries(entries)) {
    const config = used.find((one) => one.name === name);
    if (config === undefined) servers.leaveOut(name, entry, reasons.get(name) ?? null);
    else servers.use(config, entry);
  }
  return servers;
}

function read(file: string, logger: Pick<Logger, "error">): Record<string, McpEntry> {
  try {
    return readMcpFile(file);
  } catch (error) {
    if (!isAppError(error)) throw error;
    logger.error({ file, reason: explain(error) }, "mcp_file_not_used");
    return {};
  }
}

function refuseInWorkspace(file: string, workspace: string): void {
  for (const path of [file, realPath(file)]) {
    const inside = relative(workspace, path);
    // A name may begin with dots, too.
    if (inside === ".." || inside.startsWith(`..${sep}`) || isAbsolute(inside)) continue;
    throw new AppError(
      "config",
      `The file of MCP servers ${file} lies inside the workspace, where tools could change it.`,
      { suggestion: "Set MILLRACE_MCP to a file outside of the workspace." },
    );
  }
}

/** Where the file is, or will be, with links resolved. */
function realPath(file: string): string {
  if (existsSync(file)) return realpathSync(file);
  const folder = dirname(file);
  return existsSync(folder) ? join(realpathSync(folder), basename(file)) : file;
}
