import { basename } from "node:path";
import { isAppError } from "../errors/errors.ts";
import type { Logger } from "../logger.ts";
import type { DefaultTimes } from "../config/default-times.ts";
import { loadAuth, type CustomAuth } from "./auth.ts";
import { applyEnvironment } from "./environment.ts";
import { openInterfaces, type Interfaces } from "./interfaces.ts";
import { readManifest, type Cors } from "./manifest.ts";
import { openUserModules } from "../module-loading/hooks.ts";
import { loadError } from "../module-loading/load-problem.ts";
import { bindSdkLogger } from "./sdk-globals.ts";
import { loadIndex, type IndexSource } from "./store-index.ts";
import { loadExport } from "./user-module.ts";

/** Resources that a manifest may switch off. */
export type Resource = "assistants" | "threads" | "runs" | "store" | "meta" | "mcp" | "openai" | "a2a";

/** What a `langgraph.json` brings besides graphs. */
export interface CustomParts {
  auth: CustomAuth | undefined;
  /** What `http.app` names; whoever mounts it looks what it is. */
  httpApp: unknown;
  cors: Cors | undefined;
  disabled: Resource[];
  interfaces: Interfaces;
  /** How long new items and threads stay. */
  times: DefaultTimes;
  /** Who embeds the items of the store; `undefined`: nobody. */
  index: IndexSource | undefined;
}

/**
 * Loads what a `langgraph.json` brings besides graphs, with its `env` set before any of its modules runs. Throws what a
 * module throws and `config` for what cannot be used: a server without its rules must not start.
 */
export async function openCustomParts(path: string, logger: Logger): Promise<CustomParts> {
  const manifest = await readManifest(path);
  const missing = await applyEnvironment(manifest);
  // That `.env` is not there is usual.
  if (missing !== undefined && basename(missing) !== ".env") logger.warn({ file: missing }, "env_file_missing");
  openUserModules(manifest.folder, (problem) => logger.warn({ problem }, "tsconfig_not_used"));
  bindSdkLogger(logger);
  const { http, folder } = manifest;
  return {
    auth: await named(`auth.path ${manifest.auth?.path}`, () => loadAuth(manifest)),
    httpApp: await named(`http.app ${http?.app}`, async () => http?.app && (await loadExport(folder, http.app))),
    cors: http?.cors,
    times: manifest.times,
    index: await named("store.index.embed", () => loadIndex(folder, manifest.index)),
    interfaces: openInterfaces({ folder, ...manifest.interfaces }),
    disabled: resources.filter((resource) => http?.[`disable_${resource}`] === true),
  };
}

/** What `load` gives; what it throws says which part of the manifest cannot be used, with file, line and reason. */
async function named<Part>(part: string, load: () => Promise<Part>): Promise<Part> {
  try {
    return await load();
  } catch (error) {
    throw isAppError(error) && error.message.startsWith(part) ? error : loadError(part, error);
  }
}

const resources: Resource[] = ["assistants", "threads", "runs", "store", "meta", "mcp", "openai", "a2a"];
