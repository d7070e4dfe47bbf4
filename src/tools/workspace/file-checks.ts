import { relative, sep } from "node:path";
import { expectedFailure } from "../runtime/result.ts";
import type { Operation, ToolContext, Touched } from "../runtime/tool.ts";
import { locate, parsePath, type Place } from "./workspace-path.ts";

/** Time limit of every file tool, in seconds. */
export const fileSeconds = 30;

/**
 * Common fields of tools that change their `path`: the link itself (`keep`) or its target. They can be repeated after a
 * crash, since each can tell whether it took effect.
 */
export function changesPath(lastLink: "follow" | "keep") {
  return {
    effect: "reconcilable" as const,
    timeoutSeconds: fileSeconds,
    resources: ({ path }: { path: string }, { workspace }: ToolContext) => [writing(workspace, path)],
    touches: ({ path }: { path: string }): Touched => ({ kind: "write", path, lastLink }),
  };
}

/** The operation of changing a file. */
export async function changeOperation({ path }: { path: string }, { workspace }: ToolContext): Promise<Operation> {
  const place = await look(workspace, path, "follow");
  return leadsToCritical(workspace, path, place) ? { type: "ModifyCriticalFile", path } : { type: "SimpleModify" };
}

/** Lock key for reading. Paths are normalized as text, without touching files. */
export function reading(workspace: string, path: string): string {
  return `read:${workspace}/${plain(path)}`;
}

/** Lock key for writing. */
export function writing(workspace: string, path: string): string {
  return `write:${workspace}/${plain(path)}`;
}

/**
 * `locate` for `operation`, which must not fail: `refused` if the path itself is invalid, `unknown` if it cannot be
 * determined now. Unknown paths need approval, since they may exist when the call runs.
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

/** Whether a path or its link target is a critical file. */
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

/**
 * Files that configure tools and programs; changing one needs approval. Everything in `.git` counts, since git runs its
 * hooks and configuration.
 */
const names = new Set([
  ".gitignore",
  ".gitattributes",
  ".gitmodules",
  ".npmrc",
  ".editorconfig",
  ".dockerignore",
  "package.json",
  "package-lock.json",
  "pnpm-lock.yaml",
  "yarn.lock",
  "langgraph.json",
  "pyproject.toml",
  "requirements.txt",
  "cargo.toml",
  "go.mod",
  "makefile",
  "dockerfile",
  "deno.json",
  "biome.json",
]);
const patterns = [
  /^\.env(\..+)?$/,
  /^\..+rc(\.(json|ya?ml|[cm]?js|toml))?$/,
  /^tsconfig.*\.json$/,
  /^config\.(json|ya?ml|toml|ini)$/,
  /\.config\.([cm]?[jt]s|json|ya?ml|toml)$/,
  /^(docker-)?compose.*\.ya?ml$/,
];
const folders = new Set([".git", ".github", ".vscode", ".husky"]);

/** Whether a path is in a folder whose files are executed by others, so that new files matter too. */
export function isInCriticalFolder(path: string): boolean {
  return path
    .toLowerCase()
    .split("/")
    .some((part) => folders.has(part));
}

/** Whether a path of the workspace names a critical file; case does not count. */
export function isCritical(path: string): boolean {
  const name = path.toLowerCase().split("/").at(-1) ?? "";
  return isInCriticalFolder(path) || names.has(name) || patterns.some((pattern) => pattern.test(name));
}
