import { basename, extname } from "node:path/posix";

/** Reported files: circuits, libraries, results and pictures. */
const watchedEndings = new Set([".cir", ".sp", ".spice", ".json", ".png", ".jpg", ".lib", ".sub"]);
/** Temporary files of editors and programs. */
const temporary = /(?:\.tmp|\.swp|\.bak|~)$/iu;
/** Ignored folders: program data, or too large. */
const closedFolders = new Set([".circuit_ai", ".git", "node_modules"]);

/** Whether changes of this file are reported. */
export function isWatchedFile(path: string): boolean {
  return watchedEndings.has(extname(path).toLowerCase()) && !temporary.test(path);
}

/** Whether this folder is reported and scanned. */
export function isWatchedFolder(path: string): boolean {
  return !closedFolders.has(basename(path)) && !temporary.test(path);
}
