import { accessSync, constants, mkdirSync, readdirSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import type { Config } from "../config/config.ts";
import { AppError, errorMessage, isAppError, systemCode } from "../errors/errors.ts";

/** The resolved workspace, and a data folder outside it. Throws `config` as the two below do. */
export function prepareFolders(config: Config): string {
  const workspace = prepareWorkspace(config);
  prepareDataFolder(config.dataDir, workspace, "MILLRACE_DATA_DIR");
  return workspace;
}

/** The program's own folders, hidden from everything it runs: data, keys and conversations. */
export function ownFolders({ dataDir, conversations }: Pick<Config, "dataDir" | "conversations">): string[] {
  return conversations.folder === undefined ? [dataDir] : [dataDir, conversations.folder];
}

/**
 * Paths hidden from sandboxed commands, wherever they are: the folders above, and the files with keys:
 * `langgraph.json`, that of the MCP servers, and `.env` and the like in the start folder and next to `langgraph.json`.
 * A file named differently by `env` there is not included.
 */
export function hiddenPlaces(config: Pick<Config, "dataDir" | "conversations" | "graphs" | "mcpFile">): string[] {
  const folders = new Set([resolve("."), dirname(config.graphs)]);
  const files = [...folders].flatMap((folder) =>
    namesIn(folder)
      .filter((name) => /^\.env(?:\.|$)/u.test(name) && name !== ".env.example")
      .map((name) => join(folder, name)),
  );
  return [...ownFolders(config), config.graphs, config.mcpFile, ...files];
}

/** A folder that cannot be listed contained no configuration. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** The resolved workspace, created if it is the default. Throws `config` if unusable. */
function prepareWorkspace(config: Config): string {
  const { workspace } = config;
  const remedy = { suggestion: "Create it, or set MILLRACE_WORKSPACE to a folder that exists and may be written." };
  try {
    if (config.workspaceIsDefault) mkdirSync(workspace, { recursive: true });
    if (!statSync(workspace).isDirectory())
      throw new AppError("config", `The workspace ${workspace} is not a folder.`, remedy);
    accessSync(workspace, constants.R_OK | constants.W_OK);
    return realpathSync(workspace);
  } catch (error) {
    if (isAppError(error)) throw error;
    const message = `The workspace ${workspace} cannot be used: ${reasonOf(error)}.`;
    throw new AppError("config", message, { ...remedy, cause: error });
  }
}

/** Creates a folder of the program's own, outside the workspace. Throws `config` naming `variable` if unusable. */
export function prepareDataFolder(folder: string, workspace: string, variable: string): void {
  refuseInside(workspace, folder, variable);
  try {
    mkdirSync(folder, { recursive: true });
    accessSync(folder, constants.R_OK | constants.W_OK);
  } catch (error) {
    throw new AppError("config", `The data folder ${folder} cannot be used: ${reasonOf(error)}.`, {
      suggestion: `Make it writable for this user, or set ${variable} to another folder.`,
      cause: error,
    });
  }
  refuseInside(workspace, realpathSync(folder), variable);
}

function refuseInside(workspace: string, folder: string, variable: string): void {
  const path = relative(workspace, folder);
  // A name may begin with dots, too.
  if (path === ".." || path.startsWith(`..${sep}`) || isAbsolute(path)) return;
  throw new AppError("config", `The data folder ${folder} lies inside the workspace, where tools could reach it.`, {
    suggestion: `Set ${variable} to a folder outside of the workspace.`,
  });
}

const reasons: Record<string, string> = {
  ENOENT: "it does not exist",
  ENOTDIR: "a part of its path is not a folder",
  EEXIST: "there is a file of that name",
  EACCES: "this user may not write it",
  EPERM: "this user may not write it",
  EROFS: "the file system is read-only",
};

function reasonOf(error: unknown): string {
  return reasons[systemCode(error)] ?? errorMessage(error);
}

const isBundled = !import.meta.dirname.endsWith(join("src", "process"));
const packageFolder = realpathSync(isBundled ? import.meta.dirname : join(import.meta.dirname, "..", ".."));
const isInWorkspace = !isBundled && basename(dirname(packageFolder)) === "packages";

/** This program's folder: its workspace, else the package or its bundle. */
export const programFolder = isInWorkspace ? dirname(dirname(packageFolder)) : packageFolder;

const sourceFolders = isInWorkspace
  ? ["src", "packages", "toolkits"].map((name) => join(programFolder, name))
  : [programFolder];

/** Whether a file is this program's source: neither a user's module nor in a dependency. */
export function isProgramSource(path: string): boolean {
  if (path.includes(`${sep}node_modules${sep}`) && !programFolder.includes(`${sep}node_modules${sep}`)) return false;
  return sourceFolders.some((folder) => path.startsWith(folder + sep));
}
