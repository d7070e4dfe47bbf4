import { chmod, rmdir, symlink, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { AppError, hasCode } from "@millrace/engine/errors/errors";
import type { FileChange, FileState } from "@millrace/engine/storage/records";
import {
  makeFolders,
  removeEmptyFolders,
  replaceFile,
  writeNewFile,
  type FileContext,
} from "../workspace/file-access.ts";
import { moveEntry } from "../files/move-file.ts";
import { identityOf, isSameState, snapshot } from "./snapshot.ts";
import { locate, ownName, withFolder } from "../workspace/workspace-path.ts";

/** Returns a stored file's bytes by hash. Throws if they are not stored. */
type Contents = (hash: string) => Promise<Uint8Array>;

type FolderEntry = (FileState & { kind: "folder" })["entries"][number];

/**
 * Restores what a change replaced: bytes, modes and links; folders created for it are removed if empty. Throws
 * `conflict`, with nothing changed, if something has changed since. Already restored parts are left alone.
 */
export async function undoChange(
  context: FileContext,
  change: Exclude<FileChange, { kind: "document" }>,
  contents: Contents,
): Promise<void> {
  await (change.kind === "move" ? undoMove(context, change) : undoWrite(context, change, contents));
  const made = change.made.map((folder) => join(context.workspace, folder));
  await removeEmptyFolders(context, made);
}

async function undoMove(context: FileContext, change: FileChange & { kind: "move" }): Promise<void> {
  const [start, end] = [await identityOf(context, change.from), await identityOf(context, change.to)];
  if (start === change.identity && end === null) return;
  if (end === null || end !== change.identity) throw changedSince(change.to);
  // If the source exists, a crash may have interrupted an earlier undo; anything else is a `conflict`.
  await moveEntry({ ...context, repeated: start !== null }, change.to, change.from);
}

async function undoWrite(
  context: FileContext,
  change: FileChange & { kind: "write" },
  contents: Contents,
): Promise<void> {
  const { path, before, after } = change;
  const { state: now } = await snapshot(context, path, "keep");
  if (isSameState(now, before)) return;
  if (after === null || !(isSameState(now, after) || isOnTheWay(now, before, after))) throw changedSince(path);
  switch (before.kind) {
    case "absent":
      return remove(context, path, now);
    case "folder":
      await putBack(context, path, { kind: "folder", mode: before.mode }, contents);
      for (const entry of before.entries) await putBack(context, `${path}/${entry.path}`, entry.state, contents);
      return closeFolders(context, path, before);
    default:
      return putBack(context, path, before, contents);
  }
}

/** Whether a folder is in the middle of an interrupted undo: every entry is as before or as the call left it. */
function isOnTheWay(now: FileState, before: FileState, after: FileState): boolean {
  if (now.kind !== "folder" || before.kind !== "folder") return false;
  // Folder modes are set last.
  const plain = (state: FolderEntry["state"]) => (state.kind === "folder" ? { kind: state.kind } : state);
  const known = [...before.entries, ...(after.kind === "folder" ? after.entries : [])];
  const byPath = Map.groupBy(known, (entry) => entry.path);
  return now.entries.every(({ path, state }) =>
    byPath.get(path)?.some((entry) => isDeepStrictEqual(plain(entry.state), plain(state))),
  );
}

/** Restores one entry. Existing folders and links are already right; only files are replaced. */
async function putBack(
  context: FileContext,
  path: string,
  state: Exclude<FileState, { kind: "absent" | "folder" }> | { kind: "folder"; mode: number },
  contents: Contents,
): Promise<void> {
  const place = await locate(context.workspace, path, "keep");
  const isMissing = place.kind === "missing";
  switch (state.kind) {
    case "file":
      if (isMissing) await writeNewFile(context, place, await contents(state.hash), state.mode);
      else await replaceFile(context, place, await contents(state.hash), state.mode);
      return;
    case "folder":
      if (isMissing) await makeFolders(context, place.existing, place.missing);
      return;
    case "link": {
      if (!isMissing) return;
      await makeFolders(context, place.existing, place.missing.slice(0, -1));
      const { folder, name } = ownName(context.workspace, place);
      await withFolder(context.workspace, folder, (at) => symlink(state.target, at(name)));
      return;
    }
    case "other":
      throw new AppError("invalid_state", `"${path}" was a pipe, device or socket, which cannot be put back.`);
  }
}

/** Restores folder modes, innermost first, because read-only folders must be filled before. */
async function closeFolders(context: FileContext, path: string, before: FileState & { kind: "folder" }): Promise<void> {
  const folders = before.entries.flatMap((entry) =>
    entry.state.kind === "folder" ? [{ path: `${path}/${entry.path}`, mode: entry.state.mode }] : [],
  );
  for (const folder of [{ path, mode: before.mode }, ...folders].toReversed()) {
    const real = join(context.workspace, folder.path);
    await withFolder(context.workspace, real, (at) => chmod(at("."), folder.mode));
  }
}

async function remove(context: FileContext, path: string, now: FileState): Promise<void> {
  const real = join(context.workspace, path);
  await withFolder(context.workspace, dirname(real), async (at, sync) => {
    try {
      await (now.kind === "folder" ? rmdir(at(basename(real))) : unlink(at(basename(real))));
    } catch (error) {
      throw hasCode(error, "ENOTEMPTY", "EEXIST") ? changedSince(path) : error;
    }
    await sync();
  });
}

function changedSince(path: string): AppError {
  return new AppError("conflict", `"${path}" has changed since this operation; nothing was undone.`, {
    suggestion: "Undo the later operations on it first, or change it by hand.",
    message_zh: `“${path}”在此操作之后又有变化；未撤回任何内容。`,
  });
}
