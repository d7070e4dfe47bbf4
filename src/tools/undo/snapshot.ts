import { createHash } from "node:crypto";
import { constants, type BigIntStats } from "node:fs";
import { lstat, open, readdir, readlink } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { hasCode, isAppError } from "@millrace/engine/errors/errors";
import type { FileState } from "@millrace/engine/storage/records";
import { canonicalJson } from "../runtime/canonical-json.ts";
import { isTemporaryName, locate, ownName, parsePath, withFolder, type Place } from "../workspace/workspace-path.ts";

/** Bytes of one file, bytes of all, and entries of a folder that are kept for undo; more is not undone. */
const keptFile = 4 * 1024 * 1024;
const keptBytes = 8 * 1024 * 1024;
const keptEntries = 2000;

/** What lies at a path, with the bytes of its files. */
export interface Snapshot {
  /** The path in the workspace, links followed. */
  path: string;
  state: FileState;
  contents: Map<string, Uint8Array>;
  /** Everything can be put back from it. */
  isWhole: boolean;
  /** Folders above it that are not there yet, outermost first. */
  missing: string[];
}

type EntryState = Exclude<FileState, { kind: "absent" | "folder" }> | { kind: "folder"; mode: number };

/** Looks at a path and reads what is there. Throws what `locate` throws, and when `signal` aborts. */
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
  await lookInto(context, place.real, "", whole.entries, found);
  if (whole.entries.length > keptEntries) return { ...found, state: { ...whole, entries: [] }, isWhole: false };
  return found;
}

/** Whether two states are the same, byte for byte. */
export function isSameState(one: FileState, other: FileState): boolean {
  return isDeepStrictEqual(one, other);
}

/** The folders above a missing place that are missing too, by their paths in the workspace, outermost first. */
export function missingFolders(workspace: string, place: Place): string[] {
  return place.missing
    .slice(0, -1)
    .map((_, index) => inWorkspace(workspace, join(place.existing, ...place.missing.slice(0, index + 1))));
}

/**
 * What tells a thing from another that takes its name: all that is in it, or where that is too much to read, what the
 * file system knows it by. `null` when nothing is there.
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

async function lookInto(
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
      if (entries.length > keptEntries) return [];
      const state = await lookIfThere(at(name), found);
      // A file that a crash left half written is no content.
      if (state === undefined || (state.kind === "file" && isTemporaryName(name))) continue;
      entries.push({ path: prefix + name, state });
      if (!canBeNamed(`${found.path}/${prefix}${name}`)) found.isWhole = false;
      if (state.kind === "folder") names.push(name);
    }
    return names;
  });
  for (const name of subfolders) {
    try {
      await lookInto(context, join(folder, name), `${prefix}${name}/`, entries, found);
    } catch (error) {
      unlessUnseen(error, found);
    }
  }
}

/** What an entry of a folder is; `undefined` when it has gone meanwhile, or may not be looked at. */
async function lookIfThere(path: string, found: Snapshot): Promise<EntryState | undefined> {
  try {
    return await look(path, found);
  } catch (error) {
    unlessUnseen(error, found);
    return undefined;
  }
}

/** What goes while it is looked at was never there; what may not be looked at cannot be put back. Throws anything else. */
function unlessUnseen(error: unknown, found: Snapshot): void {
  if (hasCode(error, "ENOENT", "ENOTDIR", "ELOOP")) return;
  if (!hasCode(error, "EACCES", "EPERM")) throw error;
  found.isWhole = false;
}

/** Whether a path may be asked for: what has no name for us, such as one with a backslash, cannot be put back. */
function canBeNamed(path: string): boolean {
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
  const bytes = size > keptFile || size + heldBytes(found) > keptBytes ? undefined : await read(path);
  if (bytes === undefined) {
    found.isWhole = false;
    return { kind: "file", mode, size, hash: unread(stats) };
  }
  const hash = createHash("sha256").update(bytes).digest("hex");
  found.contents.set(hash, bytes);
  return { kind: "file", mode, size: bytes.length, hash };
}

/** The bytes of a file; `undefined` when it may not be read, or is not the file any more that was looked at. */
async function read(path: string): Promise<Uint8Array | undefined> {
  try {
    // Non-blocking: a pipe that took the file's place must not hang the tool.
    const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const stats = await handle.stat();
      return stats.isFile() && stats.size <= keptFile ? await handle.readFile() : undefined;
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

/** Stands for the hash of a file that is not read. */
function unread({ dev, ino, size, mtimeNs }: BigIntStats): string {
  return `${dev}:${ino}:${size}:${mtimeNs}`;
}

function inWorkspace(workspace: string, real: string): string {
  return relative(workspace, real).split(sep).join("/");
}
