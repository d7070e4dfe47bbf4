import { relative, sep } from "node:path";
import { expectedFailure } from "../runtime/result.ts";
import { isCritical } from "./critical-file.ts";
import { locate, parsePath, type Place } from "./workspace-path.ts";

/** Time limit of every file tool, in seconds. */
export const fileSeconds = 30;

/** The lock of something that is only read. Paths are taken by their form: no file is touched for a lock. */
export function reading(workspace: string, path: string): string {
  return `read:${workspace}/${plain(path)}`;
}

/** The lock of something that changes. */
export function writing(workspace: string, path: string): string {
  return `write:${workspace}/${plain(path)}`;
}

/**
 * The place of a path for `operation`, which must not fail: `refused` when its form alone will always be refused,
 * `unknown` when it cannot be said now. What is unknown must be asked about: it may be there when the call runs.
 */
export async function look(
  workspace: string,
  path: string,
  lastLink: "follow" | "keep",
): Promise<Place | "refused" | "unknown"> {
  try {
    parsePath(path);
  } catch (error) {
    if (expectedFailure(error)) return "refused";
    throw error;
  }
  try {
    return await locate(workspace, path, lastLink);
  } catch (error) {
    if (expectedFailure(error)) return "unknown";
    throw error;
  }
}

/** Whether a path or what it leads to is a critical file: a link must not hide one. */
export function leadsToCritical(workspace: string, path: string, place: Place | "refused" | "unknown"): boolean {
  if (isCritical(plain(path))) return true;
  if (typeof place === "string") return false;
  return isCritical(relative(workspace, place.real).split(sep).join("/"));
}

function plain(path: string): string {
  return path
    .split("/")
    .filter((name) => name !== "" && name !== ".")
    .join("/");
}
