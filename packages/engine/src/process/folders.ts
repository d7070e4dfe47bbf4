import { accessSync, constants, mkdirSync, readdirSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import type { Config } from "../config/config.ts";
import { AppError, errorMessage, isAppError, systemCode } from "../errors/errors.ts";

/** The workspace with its links resolved, beside a data folder that it does not hold. Throws `config` as the two below do. */
export function prepareFolders(config: Config): string {
  const workspace = prepareWorkspace(config);
  prepareDataFolder(config.dataDir, workspace, "MILLRACE_DATA_DIR");
  return workspace;
}

/** Where the program keeps what is its own, which nothing that it runs may see: data, keys and conversations. */
export function ownFolders({ dataDir, conversations }: Pick<Config, "dataDir" | "conversations">): string[] {
  return conversations.folder === undefined ? [dataDir] : [dataDir, conversations.folder];
}

/**
 * What no command in a sandbox sees, also where the program lies among those of the machine: the folders above, and the
 * files from which it has its keys: `langgraph.json`, that of the MCP servers, and `.env` and its like where the
 * program was started and beside `langgraph.json`. A file that `env` there names otherwise is not among them.
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

/** What cannot be listed holds nothing that was read. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** The workspace with its links resolved; made where it is the default. Throws `config` when it cannot be used. */
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

/** Makes a folder of the program's own, outside of the workspace. Throws `config` that names `variable` when it cannot be used. */
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

/** The folder of this program: the workspace that this package is a part of, else the package, or its bundle. */
export const programFolder = isInWorkspace ? dirname(dirname(packageFolder)) : packageFolder;

const sourceFolders = isInWorkspace
  ? ["src", "packages", "toolkits"].map((name) => join(programFolder, name))
  : [programFolder];

/** Whether a file is a source of this program: neither a user's module, nor of a package that it uses. */
export function isProgramSource(path: string): boolean {
  if (path.includes(`${sep}node_modules${sep}`) && !programFolder.includes(`${sep}node_modules${sep}`)) return false;
  return sourceFolders.some((folder) => path.startsWith(folder + sep));
}
