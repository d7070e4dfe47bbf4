import { opendirSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { errorMessage, hasCode } from "@millrace/engine/errors/errors";

/** Where extensions are looked for, and what counts. */
export interface FolderSearch {
  /** Absolute paths, the one that comes first in importance first. */
  folders: readonly string[];
  /** `all` takes every folder that is valid, `first` only the first of them. */
  strategy: "all" | "first";
  /** A folder is valid when a name in it is accepted. Only these names are its files. */
  accepts: (name: string) => boolean;
  /** Called with each folder that exists but cannot be read, or not completely. */
  onProblem: (problem: { folder: string; problem: string }) => void;
}

/** A valid folder, with the paths of its files, by name. Folders in it are not looked into. */
export interface FoundFolder {
  folder: string;
  files: string[];
}

/** Entries of a folder that are looked at; the rest of a larger one is not. */
const mostEntries = 1000;

/** The valid folders, in the order in which they were given. Never throws: a folder that is not there is simply not valid. */
export function findFolders({ folders, strategy, accepts, onProblem }: FolderSearch): FoundFolder[] {
  const found: FoundFolder[] = [];
  for (const folder of folders) {
    const names = namesIn(folder, onProblem).filter(accepts).toSorted();
    if (names.length === 0) continue;
    found.push({ folder, files: names.map((name) => join(folder, name)) });
    if (strategy === "first") break;
  }
  return found;
}

function namesIn(folder: string, onProblem: FolderSearch["onProblem"]): string[] {
  try {
    // Most folders are not there, and an exception costs more than all the rest.
    if (statSync(folder, { throwIfNoEntry: false }) === undefined) return [];
    const names: string[] = [];
    const opened = opendirSync(folder);
    try {
      for (let entry = opened.readSync(); entry !== null; entry = opened.readSync()) {
        if (names.length === mostEntries) {
          onProblem({ folder, problem: `it has more than ${mostEntries} entries; the others are not looked at` });
          break;
        }
        names.push(entry.name);
      }
    } finally {
      opened.closeSync();
    }
    return names;
  } catch (error) {
    if (!hasCode(error, "ENOENT")) onProblem({ folder, problem: errorMessage(error) });
    return [];
  }
}

/** A path as people and models know it: relative to the workspace, or with `~` for the user's home. */
export function shownPath(path: string, { workspace, home }: { workspace: string; home: string }): string {
  const inWorkspace = relative(workspace, path);
  return inWorkspace.startsWith("..") ? join("~", relative(home, path)) : inWorkspace;
}

/**
 * Returns a function that takes all current problems and reports those that were not in its previous call: a lasting
 * problem is reported once, one that comes back is reported again.
 */
export function createTellNew<Problem extends object>(
  tell: (problem: Problem) => void,
): (problems: readonly Problem[]) => void {
  let known = new Set<string>();
  return (problems) => {
    const before = known;
    known = new Set(problems.map((problem) => JSON.stringify(problem)));
    for (const problem of problems) if (!before.has(JSON.stringify(problem))) tell(problem);
  };
}
