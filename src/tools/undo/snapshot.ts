import { createHash } from "node:crypto";
import { constants, type BigIntStats } from "node:fs";
import { lstat, open, readdir, readlink } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { hasCode, isAppError } from "@millrace/engine/errors/errors";
import type { FileState } from "@millrace/engine/storage/records";
import { canonicalJson } from "../runtime/canonical-json.ts";
import { isTemporaryName, locate, ownName, parsePath, withFolder, type Place } from "../workspace/workspace-path.ts";

/** Limit for undo: bytes of one file. */
export const maxFileBytes = 4 * 1024 * 1024;
/** Limit for undo: bytes of all files. */
export const maxBytes = 8 * 1024 * 1024;
/** Limit for undo: entries of a folder. */
export const maxEntries = 2000;

/** The state of a path, with the bytes of its files. */
export interface Snapshot {
  /** The path in the workspace, links followed. */
  path: string;
  state: FileState;
  contents: Map<string, Uint8Array>;
  /** Whether everything can be restored. */
  isWhole: boolean;
  /** Missing parent folders, outermost first. */
  missing: string[];
}

type EntryState = Exclude<FileState, { kind: "absent" | "folder" }> | { kind: "folder"; mode: number };

/** Reads the state of a path. Throws `locate`'s errors, and when `signal` aborts. */
export async function snapshot(
  context: { workspace: string; signal: AbortSignal },
  path: string,
  lastLink: "follow" | "keep",
): Promise<Snapshot> {
  const place = await locate(context.workspace, path, lastLink);
  const found: Snapshot = {
    path: inWorkspace(context.workspace, place.real),
    state: { kind: "absent" },
    contents: new Map(),
    isWhole: true,
    missing: missingFolders(context.workspace, place),
  };
  if (place.kind === "missing") return found;
  const { folder, name } = ownName(context.workspace, place);
  const state = await withFolder(context.workspace, folder, (at) => look(at(name), found));
  if (state.kind !== "folder") return { ...found, state };
  const whole: FileState = { kind: "folder", mode: state.mode, entries: [] };
  found.state = whole;
  await readFolder(context, place.real, "", whole.entries, found);
  if (whole.entries.length > maxEntries) return { ...found, state: { ...whole, entries: [] }, isWhole: false };
  return found;
}

/** Whether two states are equal. */
export function isSameState(one: FileState, other: FileState): boolean {
  return isDeepStrictEqual(one, other);
}

/** The missing parents of a missing place, as workspace paths, outermost first. */
export function missingFolders(workspace: string, place: Place): string[] {
  return place.missing
    .slice(0, -1)
    .map((_, index) => inWorkspace(workspace, join(place.existing, ...place.missing.slice(0, index + 1))));
}

/**
 * Identifies a file or folder, so that another one at the same path is not mistaken for it: a hash of its content or,
 * if too large, its inode data. `null` if nothing is there.
 */
export async function identityOf(
  context: { workspace: string; signal: AbortSignal },
  path: string,
): Promise<string | null> {
  const found = await snapshot(context, path, "keep");
  if (found.state.kind === "absent") return null;
  if (found.isWhole) return createHash("sha256").update(canonicalJson(found.state)).digest("hex");
  const place = await locate(context.workspace, path, "keep");
  const { folder, name } = ownName(context.workspace, place);
  const stats = await withFolder(context.workspace, folder, (at) => lstat(at(name), { bigint: true }));
  return stats.isDirectory() ? `${stats.dev}:${stats.ino}` : unread(stats);
}

async function readFolder(
  context: { workspace: string; signal: AbortSignal },
  folder: string,
  prefix: string,
  entries: { path: string; state: EntryState }[],
  found: Snapshot,
): Promise<void> {
  const subfolders = await withFolder(context.workspace, folder, async (at) => {
    const names: string[] = [];
    for (const name of (await readdir(at("."))).toSorted()) {
      context.signal.throwIfAborted();
      if (entries.length > maxEntries) return [];
      const state = await readEntry(at(name), found);
      // Temporary files of interrupted writes do not count.
      if (state === undefined || (state.kind === "file" && isTemporaryName(name))) continue;
      entries.push({ path: prefix + name, state });
      if (!canBeNamed(`${found.path}/${prefix}${name}`)) found.isWhole = false;
      if (state.kind === "folder") names.push(name);
    }
    return names;
  });
  for (const name of subfolders) {
    try {
      await readFolder(context, join(folder, name), `${prefix}${name}/`, entries, found);
    } catch (error) {
      ignoreUnreadable(error, found);
    }
  }
}

/** A folder entry's state; `undefined` if it disappeared or cannot be read. */
async function readEntry(path: string, found: Snapshot): Promise<EntryState | undefined> {
  try {
    return await look(path, found);
  } catch (error) {
    ignoreUnreadable(error, found);
    return undefined;
  }
}

/** Ignores entries that disappeared; marks the snapshot as incomplete for unreadable ones; rethrows other errors. */
function ignoreUnreadable(error: unknown, found: Snapshot): void {
  if (hasCode(error, "ENOENT", "ENOTDIR", "ELOOP")) return;
  if (!hasCode(error, "EACCES", "EPERM")) throw error;
  found.isWhole = false;
}

/** Whether a path is valid for tools; others, such as names with a backslash, cannot be restored. */
export function canBeNamed(path: string): boolean {
  try {
    return parsePath(path).length > 0;
  } catch (error) {
    if (isAppError(error)) return false;
    throw error;
  }
}

async function look(path: string, found: Snapshot): Promise<EntryState> {
  const stats = await lstat(path, { bigint: true });
  const mode = Number(stats.mode) & 0o7777;
  if (stats.isDirectory()) return { kind: "folder", mode };
  if (stats.isSymbolicLink()) return { kind: "link", target: await readlink(path) };
  if (!stats.isFile()) {
    found.isWhole = false;
    return { kind: "other" };
  }
  const size = Number(stats.size);
  const bytes = size > maxFileBytes || size + heldBytes(found) > maxBytes ? undefined : await read(path);
  if (bytes === undefined) {
    found.isWhole = false;
    return { kind: "file", mode, size, hash: unread(stats) };
  }
  const hash = createHash("sha256").update(bytes).digest("hex");
  found.contents.set(hash, bytes);
  return { kind: "file", mode, size: bytes.length, hash };
}

/** A file's bytes; `undefined` if it is unreadable or was replaced. */
async function read(path: string): Promise<Uint8Array | undefined> {
  try {
    // Non-blocking: a pipe that took the file's place must not hang the tool.
    const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const stats = await handle.stat();
      return stats.isFile() && stats.size <= maxFileBytes ? await handle.readFile() : undefined;
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (hasCode(error, "EACCES", "EPERM", "ELOOP", "ENXIO")) return undefined;
    throw error;
  }
}

function heldBytes({ contents }: Snapshot): number {
  let sum = 0;
  for (const bytes of contents.values()) sum += bytes.length;
  return sum;
}

/** Replaces the hash of a file that is not read. */
function unread({ dev, ino, size, mtimeNs }: BigIntStats): string {
  return `${dev}:${ino}:${size}:${mtimeNs}`;
}

function inWorkspace(workspace: string, real: string): string {
  return relative(workspace, real).split(sep).join("/");
}
