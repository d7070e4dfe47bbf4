import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { AppError, errorMessage } from "@millrace/engine/errors/errors";
import { OverrideFile } from "@millrace/engine/config/override-file";
import type { Logger } from "@millrace/engine/logger";
import { ServiceKey } from "../../src/tools/runtime/toolkit-services.ts";
import type { Tool, ToolSource } from "../../src/tools/runtime/tool.ts";
import {
  checkServerName,
  type McpEntry,
  type McpServerConfig,
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
  /** Called with the source of tools once it has some: runs without servers do not ask it. */
  onFirstUse?: ((source: ToolSource) => void) | undefined;
  /** Throws where the file may not be written. */
  checkFile?: () => void;
}

interface Known {
  entry: McpEntry;
  problem: string | null;
  server?: McpServer | undefined;
}

/** The servers of a file, which are started when they are first used, and changed while the program runs. */
export class McpServers implements ToolSource {
  readonly #parts: ServersParts;
  readonly #known = new Map<string, Known>();
  #isUsed = false;

  constructor(parts: ServersParts) {
    this.#parts = parts;
  }

  /** Uses a server from now on. */
  use(config: McpServerConfig, entry: McpEntry = {}): void {
    const { logger, retrySeconds } = this.#parts;
    this.#known.set(config.name, { entry, problem: null, server: new McpServer(config, logger, retrySeconds) });
    if (!this.#isUsed) this.#parts.onFirstUse?.(this);
    this.#isUsed = true;
  }

  /** Lists a server that is not used: it is switched off, or something is wrong with it. */
  leaveOut(name: string, entry: McpEntry, problem: string | null): void {
    this.#known.set(name, { entry, problem });
  }

  /** All servers, by name. */
  list(): ListedServer[] {
    return [...this.#known]
      .map(([name, { entry, problem, server }]) => ({ name, entry, problem, state: server?.state() ?? null }))
      .toSorted((one, other) => one.name.localeCompare(other.name));
  }

  /** What happened to a server, the newest last. Throws `not_found`. */
  log(name: string): readonly McpEvent[] {
    return this.#find(name).server?.events() ?? [];
  }

  /** Connects a server anew; that it fails is its state. Throws `not_found`, and `invalid_state` if it is not used. */
  async reconnect(name: string, signal: AbortSignal): Promise<void> {
    const { server } = this.#find(name);
    if (server === undefined) throw new AppError("invalid_state", `The MCP server ${name} is not used.`);
    await server.reconnect(signal);
  }

  /** Writes the entry of a server into the file, and uses it from the next run on. Throws if it cannot be used. */
  async put(name: string, entry: McpEntry): Promise<void> {
    const config = this.#read(name, entry);
    const entries = this.#entries();
    this.#write({ ...entries, [name]: entry });
    const { server } = this.#known.get(name) ?? {};
    if (config === undefined) this.leaveOut(name, entry, null);
    else this.use(config, entry);
    await server?.close();
  }

  /** Takes a server out of the file, and ends it. Throws `not_found`. */
  async remove(name: string): Promise<void> {
    const { server } = this.#find(name);
    const { [name]: _, ...others } = this.#entries();
    this.#write(others);
    this.#known.delete(name);
    await server?.close();
  }

  async tools(signal: AbortSignal): Promise<Tool[]> {
    return (await Promise.all(this.#used().map((server) => server.tools(signal)))).flat();
  }

  async close(): Promise<void> {
    await Promise.all(this.#used().map((server) => server.close()));
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
  }
}
