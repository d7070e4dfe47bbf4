import { readdirSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { hasCode, isAppError } from "@millrace/engine/errors/errors";
import { yieldingCheck } from "@millrace/engine/concurrency/abort";
import { isReservedName, isTemporaryName, kindOf, withFolder, type Place } from "./workspace-path.ts";

/** An entry of `walk`. `unreadable` is a folder that could not be opened; links are not followed. */
export interface Entry {
  path: string;
  real: string;
  kind: "file" | "folder" | "link" | "other" | "unreadable";
}

/** Generated folders: listed, but only entered if the walk starts there. */
const closedFolders = new Set([".git", "node_modules"]);

/**
 * All entries below a folder, level by level, sorted by name. Leaves out our own files. `everything` also enters
 * generated folders. Throws when `signal` aborts.
 */
export async function* walk(
  context: { workspace: string; signal: AbortSignal },
  start: Place,
  everything = false,
): AsyncGenerator<Entry> {
  const breathe = yieldingCheck(context.signal);
  const folders: { path: string; real: string }[] = [start];
  for (let folder = folders.shift(); folder; folder = folders.shift()) {
    context.signal.throwIfAborted();
    const entries = await entriesOf(context.workspace, folder, folder === start);
    if (entries === undefined) yield { ...folder, kind: "unreadable" };
    for (const entry of entries ?? []) {
      await breathe();
      yield entry;
      const isOpened = everything || !closedFolders.has(basename(entry.real));
      if (entry.kind === "folder" && isOpened) folders.push(entry);
    }
  }
}

/** A folder's entries by name; `undefined` if a folder below the start cannot be opened. */
async function entriesOf(
  workspace: string,
  folder: { path: string; real: string },
  isStart: boolean,
): Promise<Entry[] | undefined> {
  try {
    const entries = await withFolder(workspace, folder.real, (at) => readdir(at("."), { withFileTypes: true }));
    const prefix = folder.path === "." ? "" : `${folder.path}/`;
    return entries
      .filter(({ name }) => !isTemporaryName(name))
      .filter(({ name }) => folder.real !== workspace || !isReservedName(name))
      .map((entry) => ({ path: prefix + entry.name, real: join(folder.real, entry.name), kind: kindOf(entry) }))
      .toSorted((one, other) => (one.path < other.path ? -1 : 1));
  } catch (error) {
    const isLocal = isAppError(error) || hasCode(error, "EACCES", "EPERM", "ENOENT", "ENOTDIR", "ELOOP");
    if (isStart || !isLocal) throw error;
    return undefined;
  }
}

/** Names in the workspace's root; empty if unreadable. Costs one system call. */
export function namesIn(workspace: string): string[] {
  try {
    return readdirSync(workspace);
  } catch {
    return [];
  }
}
