import { basename, extname } from "node:path/posix";

/** Files that are told of: circuits, their libraries, results and pictures. */
const watchedEndings = new Set([".cir", ".sp", ".spice", ".json", ".png", ".jpg", ".lib", ".sub"]);
/** What editors and programs write beside a file for a moment. */
const temporary = /(?:\.tmp|\.swp|\.bak|~)$/iu;
/** Folders that are nobody's to look into: a program's own data, and what is far too much. */
const closedFolders = new Set([".circuit_ai", ".git", "node_modules"]);

/** Whether a file of this path is told of. */
export function isWatchedFile(path: string): boolean {
  return watchedEndings.has(extname(path).toLowerCase()) && !temporary.test(path);
}

/** Whether a folder of this path is told of, and looked into. */
export function isWatchedFolder(path: string): boolean {
  return !closedFolders.has(basename(path)) && !temporary.test(path);
}
