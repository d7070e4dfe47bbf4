import { existsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { AppError, errorMessage } from "@millrace/engine/errors/errors";
import { OverrideFile } from "@millrace/engine/config/override-file";
import type { Logger } from "@millrace/engine/logger";
import { ServiceKey } from "../../src/tools/runtime/toolkit-services.ts";
import type { Tool, ToolSource } from "../../src/tools/runtime/tool.ts";
import {
  checkServerName,
  type McpEntry,
  type McpServerConfig,
  readMcpEntries,
  readMcpFile,
  readMcpServer,
  type ReadVariable,
} from "./mcp-config.ts";
import { type McpEvent, McpServer, type McpState } from "./mcp-server.ts";

/** The MCP servers of this server. */
export const mcpKey = new ServiceKey<McpServers>("mcp");

/** A server as an administrator sees it. */
export interface ListedServer {
  name: string;
  entry: McpEntry;
  /** Why its entry is not used; `null`: it is, or it is switched off. */
  problem: string | null;
  /** `null` where it is not used. */
  state: McpState | null;
}

/** Where servers are listed, and what they are opened with. */
interface ServersParts {
  file: string;
  readVariable: ReadVariable;
  logger: Pick<Logger, "warn">;
  retrySeconds?: number | undefined;
  /** Throws where the file may not be written. */
  checkFile?: () => void;
}

interface Known {
  entry: McpEntry;
  problem: string | null;
  server?: McpServer | undefined;
}

/** Which version of the file is there; `undefined` without one. A file that is replaced has another inode. */
function versionOf(file: string): string | undefined {
  const stats = file === "" ? undefined : statSync(file, { throwIfNoEntry: false });
  return stats && `${stats.ino} ${stats.mtimeMs} ${stats.size}`;
}

/**
 * The servers of a file. They are started when they are first used, or when they are changed while the program runs: here, or
 * in the file, by a person or by another server that has the same one.
 */
export class McpServers implements ToolSource {
  readonly #parts: ServersParts;
  readonly #known = new Map<string, Known>();
  /** The version of the file that was read last. */
  #version: string | undefined;

  constructor(parts: ServersParts) {
    this.#parts = parts;
    this.#version = versionOf(parts.file);
  }

  /** Uses a server from now on. */
  use(config: McpServerConfig, entry: McpEntry = {}): void {
    const { logger, retrySeconds } = this.#parts;
    this.#known.set(config.name, { entry, problem: null, server: new McpServer(config, logger, retrySeconds) });
  }

  /** Lists a server that is not used: it is switched off, or something is wrong with it. */
  leaveOut(name: string, entry: McpEntry, problem: string | null): void {
    this.#known.set(name, { entry, problem });
  }

  /** All servers, by name. */
  list(): ListedServer[] {
    this.#refresh();
    return [...this.#known]
      .map(([name, { entry, problem, server }]) => ({ name, entry, problem, state: server?.state() ?? null }))
      .toSorted((one, other) => one.name.localeCompare(other.name));
  }

  /** What happened to a server, the newest last. Throws `not_found`. */
  log(name: string): readonly McpEvent[] {
    this.#refresh();
    return this.#find(name).server?.events() ?? [];
  }

  /** Connects a server anew; that it fails is its state. Throws `not_found`, and `invalid_state` if it is not used. */
  async reconnect(name: string, signal: AbortSignal): Promise<void> {
    this.#refresh();
    const { server } = this.#find(name);
    if (server === undefined) throw new AppError("invalid_state", `The MCP server ${name} is not used.`);
    await server.reconnect(signal);
  }

  /** Writes the entry of a server into the file, and connects it. Throws if it cannot be used. */
  async put(name: string, entry: McpEntry): Promise<void> {
    this.#refresh();
    const config = this.#read(name, entry);
    const entries = this.#entries();
    this.#write({ ...entries, [name]: entry });
    await this.#replace(name, entry, config)?.close();
  }

  /** Takes a server out of the file, and ends it. Throws `not_found`. */
  async remove(name: string): Promise<void> {
    this.#refresh();
    const { server } = this.#find(name);
    const { [name]: _, ...others } = this.#entries();
    this.#write(others);
    this.#known.delete(name);
    await server?.close();
  }

  async tools(signal: AbortSignal): Promise<Tool[]> {
    this.#refresh();
    return (await Promise.all(this.#used().map((server) => server.tools(signal)))).flat();
  }

  async close(): Promise<void> {
    await Promise.all(this.#used().map((server) => server.close()));
  }

  /** Takes over what was changed in the file since it was read. A file that cannot be used changes nothing, with a warning. */
  #refresh(): void {
    const { file, readVariable, logger, checkFile } = this.#parts;
    const version = versionOf(file);
    if (version === this.#version) return;
    this.#version = version;
    let entries: Record<string, McpEntry>;
    try {
      checkFile?.();
      entries = this.#entries();
    } catch (error) {
      logger.warn({ file, reason: errorMessage(error) }, "mcp_file_not_used");
      return;
    }
    const { servers, problems } = readMcpEntries(entries, dirname(file), readVariable);
    for (const { server, message } of problems) {
      logger.warn({ server, reason: message, file }, "mcp_server_not_used");
    }
    for (const [name, { server }] of this.#known) {
      if (name in entries) continue;
      this.#known.delete(name);
      this.#end(name, server);
    }
    for (const [name, entry] of Object.entries(entries)) {
      if (isDeepStrictEqual(this.#known.get(name)?.entry, entry)) continue;
      const problem = problems.find(({ server }) => server === name)?.message ?? null;
      const config = servers.find((one) => one.name === name);
      this.#end(name, this.#replace(name, entry, config, problem));
    }
  }

  /** Uses the new entry of a server, whose tools are there as soon as it is connected; gives the one before. */
  #replace(
    name: string,
    entry: McpEntry,
    config: McpServerConfig | undefined,
    problem: string | null = null,
  ): McpServer | undefined {
    const { server: before } = this.#known.get(name) ?? {};
    if (config === undefined) this.leaveOut(name, entry, problem);
    else this.use(config, entry);
    // Ends when the server is closed. That it cannot be reached is its state.
    const connected = this.#known.get(name)?.server?.tools(new AbortController().signal);
    connected?.catch((error: unknown) => this.#parts.logger.warn({ err: error, server: name }, "mcp_server_failed"));
    return before;
  }

  #end(name: string, server: McpServer | undefined): void {
    const ended = server?.close();
    ended?.catch((error: unknown) => this.#parts.logger.warn({ err: error, server: name }, "mcp_server_not_closed"));
  }

  #used(): McpServer[] {
    return [...this.#known.values()].flatMap(({ server }) => server ?? []);
  }

  #find(name: string): Known {
    const known = this.#known.get(name);
    if (known === undefined) throw new AppError("not_found", `There is no MCP server ${name}.`);
    return known;
  }

  /** `undefined`: it is switched off, and what else it says is not looked at. */
  #read(name: string, entry: McpEntry): McpServerConfig | undefined {
    const { file, readVariable } = this.#parts;
    try {
      if (entry["enabled"] !== false) return readMcpServer(name, entry, dirname(file), readVariable);
      checkServerName(name);
      return undefined;
    } catch (error) {
      throw new AppError("invalid_parameter", `${name}: ${errorMessage(error)}`, { cause: error });
    }
  }

  /** As they are in the file now, which a person may have changed since the start. */
  #entries(): Record<string, McpEntry> {
    const { file } = this.#parts;
    if (!existsSync(file)) return {};
    try {
      return readMcpFile(file);
    } catch (error) {
      // A file that cannot be read is not replaced: what it should say is known only to those who wrote it.
      throw new AppError("conflict", errorMessage(error), { suggestion: "Put the file right first.", cause: error });
    }
  }

  #write(mcpServers: Record<string, McpEntry>): void {
    const { file, checkFile } = this.#parts;
    checkFile?.();
    // A header may hold a key: the file is for its owner alone.
    new OverrideFile(
      file,
      () => ({ value: undefined }),
      () => undefined,
    ).write(`${JSON.stringify({ mcpServers }, null, 2)}\n`, 0o600);
    this.#version = versionOf(file);
  }
}
