import { realpathSync } from "node:fs";
import { basename, dirname, join, sep } from "node:path";

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
