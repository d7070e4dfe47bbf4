import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** What a model is told of the workspace before it has looked. */
export interface ProjectFacts {
  /** Names in the root, folders with a slash; null for an empty one. */
  files: string | null;
  /** The branch that is checked out; null where there is no repository, or none is. */
  branch: string | null;
}

/** Names that are listed at most. */
const mostNames = 25;

/** Looks at the root of the workspace. Never throws: what cannot be read is left out. */
export function projectFacts(workspace: string): ProjectFacts {
  return { files: listing(workspace), branch: gitBranch(workspace) };
}

function listing(workspace: string): string | null {
  try {
    const entries = readdirSync(workspace, { withFileTypes: true })
      .filter(({ name }) => !name.startsWith("."))
      .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
      .toSorted();
    const more = entries.length - mostNames;
    const names = entries.slice(0, mostNames).join(", ");
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
