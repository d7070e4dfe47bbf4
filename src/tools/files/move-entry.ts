import { link, mkdir, readdir, rename, rmdir, lstat, open, unlink } from "node:fs/promises";
import { extname } from "node:path";
import { AppError } from "@millrace/engine/errors/errors";
import type { Operation } from "../runtime/tool.ts";
import { isInCriticalFolder } from "./critical-file.ts";
import { hasCode } from "@millrace/engine/errors/system-code";
import { makeFolders, removeEmptyFolders, type FileContext } from "./file-access.ts";
import { leadsToCritical, look } from "./looking.ts";
import { notFound } from "./not-found.ts";
import { locate, ownName, withFolder, type Place } from "./workspace-path.ts";

/**
 * The kind of work a move is: it never overwrites, so only critical files matter, and another extension, which makes
 * other programs open the file.
 */
export async function moveOperation(workspace: string, source: string, destination: string): Promise<Operation> {
  const place = await look(workspace, source, "keep");
  const isRisky = leadsToCritical(workspace, source, place) || isInCriticalFolder(destination);
  if (isRisky) return { type: "ModifyCriticalFile", path: source };
  const isFolder = typeof place !== "string" && place.kind === "folder";
  const isSameKind = extname(source).toLowerCase() === extname(destination).toLowerCase();
  if (isFolder || isSameKind || place === "refused") return { type: "SimpleModify" };
  return { type: "IrreversibleOperation", path: source, overwrites: false };
}

/**
 * Gives a file, link or folder another path; missing folders are made. Never replaces anything: `conflict` when the
 * destination exists, also when it appears meanwhile. After a crash it finds out how far the earlier attempt came.
 */
export async function moveEntry(context: FileContext, source: string, destination: string): Promise<[Place, Place]> {
  const from = await locate(context.workspace, source, "keep");
  const to = await locate(context.workspace, destination, "keep");
  const start = ownName(context.workspace, from);
  ownName(context.workspace, to);
  if (from.kind === "missing") {
    if (context.repeated && to.kind !== "missing") return [from, to];
    throw await notFound(context.workspace, from);
  }
  if (from.kind === "other") {
    throw new AppError("permission", `Refused: "${from.path}" is a pipe, device or socket.`);
  }
  if (`${to.real}/`.startsWith(`${from.real}/`) && to.real !== from.real) {
    throw new AppError("invalid_parameter", `"${from.path}" cannot be moved into itself.`);
  }
  const isBegun = to.kind !== "missing" && context.repeated && (await isHalfMoved(context, from, to));
  if (to.kind !== "missing" && !isBegun) throw taken(to);

  const made = await makeFolders(context, to.existing, to.missing.slice(0, -1));
  try {
    const end = ownName(context.workspace, to);
    await withFolder(context.workspace, start.folder, (sourceAt, syncSource) =>
      withFolder(context.workspace, end.folder, async (targetAt, syncTarget) => {
        const move = from.kind === "folder" ? moveFolder : moveFile;
        await move(sourceAt(start.name), targetAt(end.name), isBegun);
        await syncTarget();
        await syncSource();
      }),
    );
  } catch (error) {
    await removeEmptyFolders(context, made);
    throw hasCode(error, "EEXIST", "ENOTEMPTY") ? taken(to) : error;
  }
  return [from, to];
}

/** A second name, then the first one away: unlike a rename this fails when the name is taken. */
async function moveFile(source: string, target: string, isBegun: boolean): Promise<void> {
  if (!isBegun) {
    try {
      await link(source, target);
    } catch (error) {
      if (!hasCode(error, "EPERM", "ENOTSUP", "ENOSYS", "EMLINK", "EOPNOTSUPP")) throw error;
      // No hard links here: hold the name with an empty file of ours, then rename over that.
      await (await open(target, "wx")).close();
      await rename(source, target);
      return;
    }
  }
  await unlink(source);
}

/** A rename replaces an empty folder only: so an empty one of ours holds the name first. */
async function moveFolder(source: string, target: string, isBegun: boolean): Promise<void> {
  if (!isBegun) await mkdir(target);
  try {
    await rename(source, target);
  } catch (error) {
    if (!isBegun) await rmdir(target);
    throw error;
  }
}

/** Whether a crash left the state between the two steps of this very move. */
async function isHalfMoved(context: FileContext, from: Place, to: Place): Promise<boolean> {
  const [start, end] = [ownName(context.workspace, from), ownName(context.workspace, to)];
  return withFolder(context.workspace, end.folder, async (at) => {
    if (from.kind === "folder") return to.kind === "folder" && (await readdir(at(end.name))).length === 0;
    const there = await lstat(at(end.name));
    const here = await withFolder(context.workspace, start.folder, (sourceAt) => lstat(sourceAt(start.name)));
    return there.ino === here.ino && there.dev === here.dev && from.real !== to.real;
  });
}

function taken(to: Place): AppError {
  const suggestion =
    to.kind === "folder"
      ? "To move something into this folder give the whole new path, with the name."
      : "Choose another name, or delete that one first.";
  return new AppError("conflict", `"${to.path}" exists already; nothing was moved.`, { suggestion });
}
