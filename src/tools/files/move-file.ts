import { link, lstat, mkdir, open, readdir, rename, rmdir, unlink } from "node:fs/promises";
import { extname } from "node:path";
import { z } from "zod";
import { AppError, hasCode } from "@millrace/engine/errors/errors";
import { success, type ToolResult } from "../runtime/result.ts";
import { defineTool, type Operation } from "../runtime/tool.ts";
import { fileSeconds, isInCriticalFolder, leadsToCritical, look, writing } from "../workspace/file-checks.ts";
import { reconcileMove } from "../workspace/reconcile.ts";
import { locate, ownName, parsePath, type Place, withFolder } from "../workspace/workspace-path.ts";
import {
  confirmEffect,
  type FileContext,
  makeFolders,
  notFound,
  removeEmptyFolders,
} from "../workspace/file-access.ts";

/** Moves a file or folder to another path and never replaces anything. */
export const moveFile = defineTool({
  name: "move_file",
  description:
    "Moves a file or folder of the workspace to another path; missing folders are made. Fails if the destination " +
    "exists. The destination is the whole new path, with the name.",
  schema: z.object({
    source: z.string().describe("path of the file or folder, relative to the workspace"),
    destination: z.string().describe("the whole new path, relative to the workspace"),
  }),
  moves: true,
  effect: "reconcilable",
  timeoutSeconds: fileSeconds,
  resources: (input, context) => [
    writing(context.workspace, input.source),
    writing(context.workspace, input.destination),
  ],
  kinds: ["SimpleModify", "IrreversibleOperation", "ModifyCriticalFile"],
  operation: (input, context) => moveOperation(context.workspace, input.source, input.destination),
  run: async (input, context) => {
    const [from, to] = await moveEntry(context, input.source, input.destination);
    return moved(from.path, to.path);
  },
  touches: ({ source, destination }) => ({ kind: "move", from: source, to: destination }),
  reconcile: ({ source, destination }, context) =>
    reconcileMove(context, () => moved(parsePath(source).join("/"), parsePath(destination).join("/"))),
  example: { title: "Into a folder", body: '{"source": "draft.md", "destination": "texts/draft.md"}' },
});

function moved(source: string, destination: string): ToolResult {
  return success(`Moved ${source} to ${destination}.`, {
    data: { source, destination },
    message_zh: `已将 ${source} 移动到 ${destination}。`,
  });
}

/**
 * The operation of a move. It never overwrites, so only critical files matter, and a new extension, which changes the
 * program that opens the file.
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
 * Moves a file, link or folder; creates missing folders and never overwrites: `conflict` if the destination exists or
 * appears meanwhile. After a crash it continues the earlier attempt.
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
        const move = from.kind === "folder" ? moveFolder : moveOneFile;
        await confirmEffect(context);
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

/** Links the new name, then unlinks the old: unlike a rename this fails if the name exists. */
async function moveOneFile(source: string, target: string, isBegun: boolean): Promise<void> {
  if (!isBegun) {
    try {
      await link(source, target);
    } catch (error) {
      if (!hasCode(error, "EPERM", "ENOTSUP", "ENOSYS", "EMLINK", "EOPNOTSUPP")) throw error;
      // Without hard links: reserve the name with an empty file, then rename over it.
      await (await open(target, "wx")).close();
      await rename(source, target);
      return;
    }
  }
  await unlink(source);
}

/** A rename only replaces an empty folder, so an empty one reserves the name. */
async function moveFolder(source: string, target: string, isBegun: boolean): Promise<void> {
  if (!isBegun) await mkdir(target);
  try {
    await rename(source, target);
  } catch (error) {
    if (!isBegun) await rmdir(target);
    throw error;
  }
}

/** Whether a crash interrupted this move between its two steps. */
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
