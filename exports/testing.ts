import { mkdir, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { loadConfig, type Config } from "@millrace/engine/config/config";
import { startServer } from "../src/server.ts";

/** The test kit, `millrace/testing`: a scripted model server and a server for your graphs, without a key or a network. */

export {
  ModelServer,
  refusingAddress,
  startModelServer,
  wireText,
  type ModelRequest,
  type ModelServerOptions,
  type ModelStep,
  type ScriptedToolCall,
  type WireMessage,
} from "@millrace/testing/model-server";
export type { ModelFault } from "@millrace/testing/model-server-script";

export interface TestServerOptions {
  /** A langgraph.json; by default the one of the working folder. */
  config?: string;
  /** Variables of docs/operate/configuration.md. Those of the process do not count. */
  env?: Record<string, string>;
}

/** A server on a free port of this machine. */
export interface TestServer {
  url: string;
  /** Where the assistant's tools read and write. */
  workspace: string;
  /** Stops it, as Ctrl-C does, and starts another on the same data, with an address of its own. */
  restart(): Promise<TestServer>;
  /** Stops it and removes its files. */
  close(): Promise<void>;
}

/**
 * Serves the graphs of a langgraph.json from a temporary folder, with the offline model unless `env` names another. Throws
 * `config` when the file or a variable is wrong.
 */
export async function startTestServer({ config, env }: TestServerOptions = {}): Promise<TestServer> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "millrace-test-")));
  const workspace = join(folder, "workspace");
  try {
    await mkdir(workspace);
    return await start(
      folder,
      loadConfig({
        MILLRACE_MODEL: "offline",
        MILLRACE_LOG_LEVEL: "silent",
        MILLRACE_CONSOLE: "off",
        MILLRACE_WATCH_FILES: "off",
        MILLRACE_DATA_DIR: join(folder, "data"),
        MILLRACE_WORKSPACE: workspace,
        MILLRACE_GRAPHS: resolve(config ?? "langgraph.json"),
        // Nobody listens there: a model that happens to be installed is no part of a test.
        OLLAMA_BASE_URL: "http://127.0.0.1:2",
        ...env,
      }),
    );
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

async function start(folder: string, config: Config): Promise<TestServer> {
  const server = await startServer({ ...config, port: 0 });
  return {
    url: server.url,
    workspace: config.workspace,
    async restart() {
      await server.close();
      return start(folder, config);
    },
    async close() {
      await server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
