import { basename, resolve } from "node:path";
import { AppError, errorMessage, hasCode, isAppError } from "../errors/errors.ts";
import type { Logger } from "../logger.ts";
import type { DefaultTimes } from "../config/default-times.ts";
import { type CustomAuth, loadAuth } from "./auth.ts";
import { type Interfaces, openInterfaces } from "./interfaces.ts";
import { type Cors, type IndexSource, loadIndex, type Manifest, readManifest } from "./manifest.ts";
import { loadError, openUserModules } from "../module-loading/hooks.ts";
import { bindSdkLogger, loadExport } from "./user-module.ts";
import { readFile } from "node:fs/promises";
import { parseEnv } from "node:util";
import { addVariables, environmentVariable } from "../config/config.ts";
import { AssistantConfig } from "../runs/admission/run-config.ts";
import { z } from "zod";

/** Resources that a manifest may disable. */
export type Resource = "assistants" | "threads" | "runs" | "store" | "meta" | "mcp" | "openai" | "a2a";

/** What a `langgraph.json` adds besides graphs. */
export interface CustomParts {
  auth: CustomAuth | undefined;
  /** The export named by `http.app`, not validated yet. */
  httpApp: unknown;
  cors: Cors | undefined;
  disabled: Resource[];
  interfaces: Interfaces;
  /** How long new items and threads are kept. */
  times: DefaultTimes;
  /** The source of the store's embeddings, if any. */
  index: IndexSource | undefined;
}

/**
 * Loads what a `langgraph.json` adds besides graphs, with its `env` set before any module runs. Throws what a module
 * throws, and `config` for anything unusable: a server without its rules must not start.
 */
export async function openCustomParts(path: string, logger: Logger): Promise<CustomParts> {
  const manifest = await readManifest(path);
  const missing = await applyEnvironment(manifest);
  // A missing `.env` is normal.
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

/** The result of `load`; its error is extended by the manifest's part, file, line and reason. */
async function named<Part>(part: string, load: () => Promise<Part>): Promise<Part> {
  try {
    return await load();
  } catch (error) {
    throw isAppError(error) && error.message.startsWith(part) ? error : loadError(part, error);
  }
}

const resources: Resource[] = ["assistants", "threads", "runs", "store", "meta", "mcp", "openai", "a2a"];

/**
 * Sets the variables of the manifest's `env` (a file, or values) that are unset: the process's environment wins.
 * Returns the path of a missing file; an unreadable one throws `config`.
 */
export async function applyEnvironment({ env, folder }: Pick<Manifest, "env" | "folder">): Promise<string | undefined> {
  // A list only names variables for an image.
  if (env === undefined || Array.isArray(env)) return undefined;
  if (typeof env === "object") {
    addVariables(Object.fromEntries(Object.entries(env).map(([name, value]) => [name, String(value)])));
    return undefined;
  }
  const path = resolve(folder, env);
  try {
    addVariables(parseEnv(await readFile(path, "utf8")));
    return undefined;
  } catch (error) {
    if (hasCode(error, "ENOENT")) return path;
    throw new AppError("config", `${path}, which env of langgraph.json names, cannot be read: ${errorMessage(error)}`, {
      suggestion: "Make it readable, or take env out of langgraph.json.",
      cause: error,
    });
  }
}

const variable = "LANGGRAPH_CONFIG";
const JsonObject = z.record(z.string(), z.unknown());
const Defaults = z.record(z.string(), AssistantConfig.extend({ context: JsonObject.optional() }));

/** The `config` and `context` of a graph's default assistant, used where a run sets none. */
export interface GraphDefaults {
  config: Record<string, unknown>;
  context: Record<string, unknown>;
  /** The graph's description in `langgraph.json`. */
  description?: string | undefined;
}

/** None: for graphs missing in the variable. */
export const noDefaults: GraphDefaults = { config: {}, context: {} };

/**
 * The defaults in `LANGGRAPH_CONFIG`, JSON such as `{"graph": {"configurable": {}, "context": {}}}`. Throws `config`
 * for any other form.
 */
export function readGraphDefaults(): Record<string, GraphDefaults> {
  const text = environmentVariable(variable)?.trim() ?? "";
  if (text === "") return {};
  const parsed = Defaults.safeParse(jsonOf(text));
  if (!parsed.success) throw wrong(z.prettifyError(parsed.error));
  const entries = Object.entries(parsed.data).map(([id, { context = {}, ...config }]) => [id, { config, context }]);
  return Object.fromEntries(entries);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw wrong("it is no JSON");
  }
}

function wrong(why: string): AppError {
  return new AppError("config", `${variable} cannot be read: ${why}.`, {
    suggestion: 'Expected JSON such as {"agent": {"configurable": {"model": "x"}, "context": {}}}.',
  });
}
