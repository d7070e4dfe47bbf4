import { existsSync, realpathSync } from "node:fs";
import { isAbsolute, relative, sep } from "node:path";
import { environmentVariable, type Config } from "@millrace/engine/config/config";
import { AppError, explain, isAppError } from "@millrace/engine/errors/errors";
import type { Logger } from "@millrace/engine/logger";
import type { OpenedToolkit, ToolkitServer } from "../../src/toolkits/toolkit.ts";
import type { ToolSource } from "../../src/tools/runtime/tool.ts";
import { readMcpConfig, type McpServerConfig, type McpSettings, type ReadVariable } from "./mcp-config.ts";
import { McpServer } from "./mcp-server.ts";

/** The tools of all given MCP servers. Nothing is started or loaded before the first use. */
export function createMcpSource(
  servers: readonly McpServerConfig[],
  logger: Pick<Logger, "warn">,
  { retrySeconds }: { retrySeconds?: number } = {},
): ToolSource {
  const all = servers.map((server) => new McpServer(server, logger, retrySeconds));
  return {
    tools: async (signal) => (await Promise.all(all.map((server) => server.tools(signal)))).flat(),
    close: async () => {
      await Promise.all(all.map((server) => server.close()));
    },
  };
}

/** Opens the configured MCP servers as a tool source. */
export function openMcp({ config, workspace, logger }: ToolkitServer): OpenedToolkit {
  const toolSources = openMcpSources(config, workspace, logger);
  return {
    toolSources,
    close: async () => {
      await Promise.all(toolSources.map((source) => source.close()));
    },
  };
}

/**
 * The source of tools by the configured file; none if the file lists no servers. A broken file is logged and ignored.
 * Throws `config` if a named file is missing, or lies in the workspace, where tools could write what programs start.
 */
export function openMcpSources(
  { mcpFile, mcpFileIsDefault }: Pick<Config, "mcpFile" | "mcpFileIsDefault">,
  workspace: string,
  logger: Pick<Logger, "warn" | "error">,
  readVariable: ReadVariable = environmentVariable,
): ToolSource[] {
  if (!existsSync(mcpFile)) {
    if (mcpFileIsDefault) return [];
    throw new AppError("config", `The file of MCP servers ${mcpFile} is not there.`, {
      suggestion: "Create it, or leave MILLRACE_MCP empty.",
    });
  }
  refuseInWorkspace(mcpFile, workspace);
  const { servers, problems } = read(mcpFile, readVariable, logger);
  for (const { server, message } of problems) {
    logger.error({ server, reason: message, file: mcpFile }, "mcp_server_not_used");
  }
  return servers.length === 0 ? [] : [createMcpSource(servers, logger)];
}

function read(file: string, readVariable: ReadVariable, logger: Pick<Logger, "error">): McpSettings {
  try {
    return readMcpConfig(file, readVariable);
  } catch (error) {
    if (!isAppError(error)) throw error;
    logger.error({ file, reason: explain(error) }, "mcp_file_not_used");
    return { servers: [], problems: [] };
  }
}

function refuseInWorkspace(file: string, workspace: string): void {
  for (const path of [file, realpathSync(file)]) {
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
