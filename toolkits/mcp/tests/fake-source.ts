import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { McpServerConfig } from "../mcp-config.ts";
import { createMcpSource } from "../mcp-source.ts";
import type { Tool, ToolSource } from "../../../src/tools/runtime/tool.ts";
import { aWorkspace, type Workspace } from "../../../tests/support/a-workspace.ts";
import type { ToolResult } from "../../../src/tools/runtime/result.ts";

/** The program of the fake server. */
export const program = fileURLToPath(new URL("fake-server.ts", import.meta.url));
/** A signal that does not abort. */
export const never = new AbortController().signal;
/** How long something may take on a busy machine. */
export const soon = { timeout: 30_000 };

/** A source with one fake server. */
export interface Fixture extends AsyncDisposable {
  source: ToolSource;
  warnings: { message: string; reason?: string; problems?: string[] }[];
  logFile: string;
  /** The lines of the server's log that begin with a word. */
  logged(word: string): Promise<string[]>;
  tool(name: string): Promise<Tool>;
  call(name: string, input?: object): Promise<ToolResult>;
}

/** Makes such sources, whose servers log to files of one folder. */
export interface FakeSources {
  folder: string;
  workspace: Workspace;
  /** A source whose server behaves as `mode` says. */
  source(mode?: string, changes?: Partial<McpServerConfig>): Fixture;
  close(): Promise<void>;
}

/** Makes the folder and the workspace. */
export async function openFakeSources(): Promise<FakeSources> {
  const folder = await mkdtemp(join(tmpdir(), "millrace-mcp-"));
  const workspace = await aWorkspace();
  let files = 0;
  return {
    folder,
    workspace,
    source: (mode = "well", changes = {}) =>
      openSource({ folder, workspace, logFile: join(folder, `log-${(files += 1)}`) }, mode, changes),
    async close() {
      await workspace[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function openSource(
  { folder, workspace, logFile }: { folder: string; workspace: Workspace; logFile: string },
  mode: string,
  changes: Partial<McpServerConfig>,
): Fixture {
  const server: McpServerConfig = {
    name: "fake",
    transport: {
      kind: "stdio",
      command: process.execPath,
      args: [program, logFile, mode],
      cwd: folder,
      environment: {},
    },
    secrets: [],
    timeoutSeconds: 20,
    connectSeconds: 20,
    only: undefined,
    ruleOf: () => ({ effect: "unsafe", approval: "ask" }),
    ...changes,
  };
  const warnings: Fixture["warnings"] = [];
  // Only the two-argument form of a pino method is used.
  const warn = ((what: object, message: string) => warnings.push({ message, ...what })) as never;
  const source = createMcpSource([server], { warn }, { retrySeconds: 0 });
  const tool = async (name: string): Promise<Tool> => {
    const found = (await source.tools(never)).find((candidate) => candidate.name === `fake__${name}`);
    if (found === undefined) throw new Error(`The server does not offer ${name}.`);
    return found;
  };
  return {
    source,
    warnings,
    logFile,
    tool,
    logged: async (word) =>
      (await readFile(logFile, "utf8").catch(() => "")).split("\n").filter((line) => line.startsWith(word)),
    call: async (name, input = {}) => workspace.call(await tool(name), input),
    [Symbol.asyncDispose]: () => source.close(),
  };
}
