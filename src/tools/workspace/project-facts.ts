import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Facts about the workspace for the first request. */
export interface ProjectFacts {
  /** Names in the root, folders with a slash; null if empty. */
  files: string | null;
  /** The checked-out git branch; null if there is none. */
  branch: string | null;
}

/** Maximum number of names. */
const maxNames = 25;

/** Reads the workspace's root. Never throws: unreadable parts are left out. */
export function projectFacts(workspace: string): ProjectFacts {
  return { files: listing(workspace), branch: gitBranch(workspace) };
}

function listing(workspace: string): string | null {
  try {
    const entries = readdirSync(workspace, { withFileTypes: true })
      .filter(({ name }) => !name.startsWith("."))
      .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
      .toSorted();
    const more = entries.length - maxNames;
    const names = entries.slice(0, maxNames).join(", ");
    return names === "" ? null : `${names}${more > 0 ? ` and ${more} more` : ""}`;
  } catch {
    return null;
  }
}

function gitBranch(workspace: string): string | null {
  try {
    return /^ref: refs\/heads\/(\S+)\s*$/u.exec(readFileSync(join(workspace, ".git", "HEAD"), "utf8"))?.[1] ?? null;
  } catch {
    return null;
  }
}
