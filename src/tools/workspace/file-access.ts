import { randomUUID } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { access, type FileHandle, link, lstat, mkdir, open, readdir, rename, rmdir, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { AppError, hasCode, isAppError } from "@millrace/engine/errors/errors";
import { isReservedName, isTemporaryName, ownName, type Place, withFolder } from "./workspace-path.ts";

/** What file access needs from a tool's context. */
export interface FileContext {
  workspace: string;
  repeated: boolean;
  signal: AbortSignal;
  /** See `ToolContext`. */
  confirm?: (() => Promise<void>) | undefined;
}

/** Right before a file gets its name, is moved or removed: another server may go on with the run, or the user has stopped it. */
export async function confirmEffect({ confirm, signal }: FileContext): Promise<void> {
  if (confirm === undefined) return;
  await confirm();
  signal.throwIfAborted();
}

/**
 * Opens an existing regular file for reading: no folder, pipe, device or socket, and no link that appeared after
 * `locate`. Hard links cannot be recognized; tools leave none behind.
 */
export async function withFile<T>(
  context: FileContext,
  place: Place,
  work: (handle: FileHandle, stats: Stats) => Promise<T>,
): Promise<T> {
  await requireFile(context, place);
  const { folder, name } = ownName(context.workspace, place);
  return withFolder(context.workspace, folder, async (at) => {
    // Non-blocking: a pipe that took the file's place must not hang the tool.
    const handle = await open(at(name), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const stats = await handle.stat();
      if (!stats.isFile()) throw notRegular(place);
      context.signal.throwIfAborted();
      return await work(handle, stats);
    } finally {
      await handle.close();
    }
  });
}

/** Throws unless a regular file is at `place`: `not_found`, `invalid_parameter` (a folder) or `permission` (special). */
export async function requireFile(context: FileContext, place: Place): Promise<void> {
  if (place.kind === "missing") throw await notFound(context.workspace, place);
  if (place.kind === "folder") {
    throw new AppError("invalid_parameter", `"${place.path}" is a folder, a file is expected.`, {
      suggestion: "list_files shows what is in it.",
    });
  }
  if (place.kind !== "file") throw notRegular(place);
}

/**
 * Creates a file and its missing folders, completely or not at all; `conflict` if something appears there meanwhile.
 * Synced to disk when the promise resolves.
 */
export async function writeNewFile(
  context: FileContext,
  place: Place,
  content: string | Uint8Array,
  mode?: number,
): Promise<void> {
  const made = await makeFolders(context, place.existing, place.missing.slice(0, -1));
  try {
    const { folder, name } = ownName(context.workspace, place);
    await withFolder(context.workspace, folder, async (at, sync) => {
      await removeLeftovers(context, at);
      await withTemporary(at, content, mode, async (temporary) => {
        await confirmEffect(context);
        await linkOrCreate(at(temporary), at(name), content);
      });
      await sync();
    });
  } catch (error) {
    await removeEmptyFolders(context, made);
    throw error;
  }
}

/** Replaces an existing file atomically, keeping its mode by default. Synced to disk when the promise resolves. */
export async function replaceFile(
  context: FileContext,
  place: Place,
  content: string | Uint8Array,
  newMode?: number,
): Promise<void> {
  const mode = newMode ?? (await withFile(context, place, async (_, stats) => stats.mode));
  const { folder, name } = ownName(context.workspace, place);
  await withFolder(context.workspace, folder, async (at, sync) => {
    // A rename only checks the folder's permissions, so the file's are checked here.
    await access(at(name), constants.W_OK);
    await removeLeftovers(context, at);
    await withTemporary(at, content, mode & 0o7777, async (temporary) => {
      const target = await lstat(at(name));
      if (!target.isFile()) throw notRegular(place);
      await confirmEffect(context);
      await rename(at(temporary), at(name));
    });
    await sync();
  });
}

/** Creates folders one by one, each in its verified parent. Returns the created ones, outermost first. */
export async function makeFolders(context: FileContext, existing: string, names: string[]): Promise<string[]> {
  const made: string[] = [];
  let parent = existing;
  for (const name of names) {
    const isNew = await withFolder(context.workspace, parent, (at) => mkdir(at(name)).then(() => true, alreadyThere));
    parent = join(parent, name);
    if (isNew) made.push(parent);
  }
  return made;
}

/** Removes folders created for a failed action; ignores those in use or already gone. */
export async function removeEmptyFolders(context: FileContext, made: string[]): Promise<void> {
  for (const folder of made.toReversed()) {
    try {
      await withFolder(context.workspace, dirname(folder), (at) => rmdir(at(basename(folder))));
    } catch (error) {
      if (!isNotOurs(error)) throw error;
    }
  }
}

/** Whether the error means that the folder is in use, gone or replaced. */
function isNotOurs(error: unknown): boolean {
  const codes = ["ENOTEMPTY", "EEXIST", "ENOENT", "ENOTDIR", "ELOOP", "EBUSY", "EACCES", "EPERM"];
  return hasCode(error, ...codes) || (isAppError(error) && error.code === "permission");
}

async function withTemporary(
  at: (name: string) => string,
  content: string | Uint8Array,
  mode: number | undefined,
  place: (temporary: string) => Promise<void>,
): Promise<void> {
  const temporary = `.millrace-${randomUUID()}.tmp`;
  const handle = await open(at(temporary), "wx");
  try {
    try {
      await handle.writeFile(content, "utf8");
      if (mode !== undefined) await handle.chmod(mode);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await place(temporary);
  } finally {
    await unlink(at(temporary)).catch(gone);
  }
}

/** Gives the temporary file its final name; unlike a rename, a link fails if the name exists. */
async function linkOrCreate(temporary: string, target: string, content: string | Uint8Array): Promise<void> {
  try {
    await link(temporary, target);
  } catch (error) {
    if (!hasCode(error, "EPERM", "ENOTSUP", "ENOSYS", "EMLINK", "EOPNOTSUPP")) throw error;
    // Without hard links: still no overwriting, but the file is visible while it is written.
    const handle = await open(target, "wx");
    try {
      await handle.writeFile(content, "utf8");
      await handle.sync();
    } finally {
      await handle.close();
    }
  }
}

/** Removes the temporary file of this call's attempt before a crash; newer ones belong to other calls. */
async function removeLeftovers(context: FileContext, at: (name: string) => string): Promise<void> {
  if (!context.repeated) return;
  for (const name of (await readdir(at("."))).filter(isTemporaryName)) {
    const stats = await lstat(at(name)).catch(gone);
    if (stats && stats.mtimeMs < performance.timeOrigin) await unlink(at(name)).catch(gone);
  }
}

function gone(error: unknown): undefined {
  if (hasCode(error, "ENOENT")) return undefined;
  throw error;
}

function alreadyThere(error: unknown): false {
  if (hasCode(error, "EEXIST")) return false;
  throw error;
}

function notRegular(place: Place): AppError {
  return new AppError("permission", `Refused: "${place.path}" is not a regular file (a pipe, device, socket or link).`);
}

/** The error for a missing path; suggests a similar name in the same folder. */
export async function notFound(workspace: string, place: Place): Promise<AppError> {
  const [wanted = ""] = place.missing;
  const names = await withFolder(workspace, place.existing, (at) => readdir(at(".")));
  const near = nearest(wanted, names);
  if (near === undefined) {
    return new AppError("not_found", `"${place.path}" does not exist.`, {
      suggestion: "list_files shows what is there.",
    });
  }
  const folder = place.path.split("/").slice(0, -place.missing.length);
  const suggested = [...folder, near, ...place.missing.slice(1)].join("/");
  return new AppError("not_found", `"${place.path}" does not exist.`, { suggestion: `Did you mean "${suggested}"?` });
}

/** The most similar name, ignoring case, with at most a third of its letters different. */
function nearest(wanted: string, names: string[]): string | undefined {
  const target = wanted.toLowerCase();
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(target.length / 3)) + 1;
  for (const name of names.slice(0, 2000)) {
    if (isReservedName(name) || isTemporaryName(name)) continue;
    const distance = editDistance(target, name.toLowerCase(), bestDistance);
    if (distance < bestDistance) [best, bestDistance] = [name, distance];
  }
  return best;
}

/** Levenshtein distance, capped at `limit`. */
function editDistance(one: string, other: string, limit: number): number {
  if (Math.abs(one.length - other.length) >= limit) return limit;
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= other.length; j += 1) {
      const swap = (row[j - 1] ?? 0) + (one[i - 1] === other[j - 1] ? 0 : 1);
      next.push(Math.min(swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    if (Math.min(...next) >= limit) return limit;
    row = next;
  }
  return row[other.length] ?? limit;
}
