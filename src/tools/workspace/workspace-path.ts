import { constants } from "node:fs";
import { lstat, open, readlink, realpath, stat } from "node:fs/promises";
import { basename, dirname, join, sep } from "node:path";
import { AppError, hasCode } from "@millrace/engine/errors/errors";
import { markerName } from "@millrace/engine/process/mark-workspace";

/**
 * A model's path with links resolved. Only names below `existing` may be missing. `path` is relative, for people and
 * the model (`.` is the workspace); `real` is for the system.
 */
export interface Place {
  path: string;
  real: string;
  kind: "file" | "folder" | "link" | "other" | "missing";
  /** The deepest existing folder, and the missing names below it. */
  existing: string;
  missing: string[];
}

/** Our own entries at the root of a workspace, never listed and never opened: a folder, and the file with its id. */
export const isReservedName = (name: string) => [".millrace", markerName].includes(name.toLowerCase());
/** Files being written, next to their target (see `file-access.ts`). */
export const isTemporaryName = (name: string) => /^\.millrace-[0-9a-f-]+\.tmp$/i.test(name);

/**
 * Splits a path into names. Throws `permission` if it leads outside by its form, `invalid_parameter` if it is invalid.
 */
export function parsePath(path: string): string[] {
  const shown = JSON.stringify(path.length > 120 ? `${path.slice(0, 120)}…` : path);
  const suggestion = "Give a path relative to the workspace with / between names, such as notes/today.md.";
  if (path.includes("\0"))
    throw new AppError("invalid_parameter", `The path ${shown} holds a zero byte.`, { suggestion });
  if (/^[/\\]|^[a-z]:/i.test(path)) {
    throw new AppError("permission", `Refused: ${shown} is an absolute path.`, { suggestion });
  }
  if (path.includes("\\")) throw new AppError("permission", `Refused: ${shown} holds a backslash.`, { suggestion });
  const names = path.split("/").filter((name) => name !== "" && name !== ".");
  if (names.includes("..")) {
    throw new AppError("permission", `Refused: ${shown} uses "..", which may lead out of the workspace.`, {
      suggestion,
    });
  }
  // Control characters would break listings.
  if (/\p{Cc}/u.test(path)) {
    throw new AppError("invalid_parameter", `The path ${shown} holds a control character.`, { suggestion });
  }
  if (names.some((name) => Buffer.byteLength(name) > 255) || Buffer.byteLength(path) > 3000) {
    throw new AppError("invalid_parameter", `The path ${shown} is too long: at most 255 bytes a name, 3000 in all.`, {
      suggestion: "Use shorter names.",
    });
  }
  if (path.trim() === "") throw new AppError("invalid_parameter", "The path is empty.", { suggestion });
  if (isReserved(names)) throw reserved(names.join("/"));
  return names;
}

/**
 * Resolves a path in the workspace (absolute, links resolved). `lastLink`: whether a final link is followed, or meant
 * itself (delete, move). Throws `permission` for a link that leads outside.
 */
export async function locate(workspace: string, path: string, lastLink: "follow" | "keep" = "follow"): Promise<Place> {
  const names = parsePath(path);
  const shown = names.join("/") || ".";
  let real = workspace;
  let kind: Place["kind"] = "folder";
  for (const [index, name] of names.entries()) {
    if (kind !== "folder") {
      const here = names.slice(0, index).join("/");
      throw new AppError("not_found", `"${shown}" cannot exist: "${here}" is not a folder.`);
    }
    const next = join(real, name);
    const found = await lstat(next).catch(absent);
    if (!found) {
      const missing = names.slice(index);
      return { path: shown, real: join(real, ...missing), kind: "missing", existing: real, missing };
    }
    const isKept = lastLink === "keep" && index === names.length - 1;
    real = found.isSymbolicLink() && !isKept ? await followLink(workspace, next, names.slice(0, index + 1)) : next;
    kind = kindOf(found.isSymbolicLink() && !isKept ? await stat(real) : found);
  }
  if (isReserved(real.slice(workspace.length).split(sep).filter(Boolean))) throw reserved(shown);
  return { path: shown, real, kind, existing: kind === "folder" ? real : dirname(real), missing: [] };
}

/** A place's folder and name. Throws `permission` for the workspace itself. */
export function ownName(workspace: string, place: Place): { folder: string; name: string } {
  if (place.real === workspace) throw new AppError("permission", "Refused: this is the workspace itself.");
  return { folder: dirname(place.real), name: basename(place.real) };
}

/**
 * Opens a folder, verifies that it is the intended one inside the workspace, and runs `work` with paths through the
 * open descriptor, so that nothing can be swapped between check and use. Throws `permission` if the folder was swapped
 * before. Without /proc (not Linux) `work` uses names and a race remains.
 */
export async function withFolder<T>(
  workspace: string,
  folder: string,
  work: (at: (name: string) => string, sync: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const handle = await open(folder, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    const descriptor = `/proc/self/fd/${handle.fd}`;
    const opened = await readlink(descriptor).catch(absent);
    const actual = opened ?? (await realpath(folder));
    if (actual !== folder || !isInside(workspace, actual)) {
      throw new AppError("permission", "Refused: a folder of the path was exchanged while it was being opened.");
    }
    const base = opened === undefined ? folder : descriptor;
    return await work(
      (name) => `${base}/${name}`,
      () => handle.sync(),
    );
  } finally {
    await handle.close();
  }
}

async function followLink(workspace: string, link: string, names: string[]): Promise<string> {
  const target = await realpath(link).catch(absent);
  if (target !== undefined && isInside(workspace, target)) return target;
  // The same error for both, so that links do not reveal what exists outside.
  throw new AppError(
    "permission",
    `Refused: "${names.join("/")}" is a link that leads out of the workspace or nowhere.`,
  );
}

function isInside(workspace: string, real: string): boolean {
  return real === workspace || real.startsWith(workspace.endsWith(sep) ? workspace : workspace + sep);
}

function isReserved(names: string[]): boolean {
  return isReservedName(names[0] ?? "") || names.some(isTemporaryName);
}

function reserved(path: string): AppError {
  return new AppError("permission", `Refused: "${path}" belongs to the program itself.`);
}

/** The kind of an existing entry. */
export function kindOf(stats: {
  isFile(): boolean;
  isDirectory(): boolean;
  isSymbolicLink(): boolean;
}): Exclude<Place["kind"], "missing"> {
  if (stats.isFile()) return "file";
  if (stats.isDirectory()) return "folder";
  return stats.isSymbolicLink() ? "link" : "other";
}

/** Turns ENOENT into `undefined`; rethrows other errors. */
function absent(error: unknown): undefined {
  if (hasCode(error, "ENOENT")) return undefined;
  throw error;
}
