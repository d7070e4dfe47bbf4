import { opendirSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { errorMessage, hasCode } from "@millrace/engine/errors/errors";

/** Where to search for extensions, and which files count. */
export interface FolderSearch {
  /** Absolute paths by precedence. */
  folders: readonly string[];
  /** `all` returns every valid folder, `first` only the first. */
  strategy: "all" | "first";
  /** Accepts file names; a folder with an accepted name is valid. */
  accepts: (name: string) => boolean;
  /** Called for each folder that exists but cannot be read completely. */
  onProblem: (problem: { folder: string; problem: string }) => void;
}

/** A valid folder with its files' paths, by name. Not recursive. */
export interface FoundFolder {
  folder: string;
  files: string[];
}

/** Maximum number of entries examined per folder. */
const maxEntries = 1000;

/** Where a file of a user is, or would be: a path below a folder that it does not leave. */
export interface FilePlace {
  root: string;
  path: string;
}

/** The valid folders in the given order. Never throws: missing folders are not valid. */
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
    // Most folders do not exist, and an exception would be the most expensive part.
    if (statSync(folder, { throwIfNoEntry: false }) === undefined) return [];
    const names: string[] = [];
    const opened = opendirSync(folder);
    try {
      for (let entry = opened.readSync(); entry !== null; entry = opened.readSync()) {
        if (names.length === maxEntries) {
          onProblem({ folder, problem: `it has more than ${maxEntries} entries; the others are not looked at` });
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

/** A path for display: relative to the workspace, or with `~` for the user's home. */
export function shownPath(path: string, { workspace, home }: { workspace: string; home: string }): string {
  const inWorkspace = relative(workspace, path);
  return inWorkspace.startsWith("..") ? join("~", relative(home, path)) : inWorkspace;
}

/**
 * Returns a function that takes all current problems and reports those that were not in its previous call: a lasting
 * problem is reported once, one that comes back is reported again.
 */
export function createNewProblemReporter<Problem extends object>(
  report: (problem: Problem) => void,
): (problems: readonly Problem[]) => void {
  let known = new Set<string>();
  return (problems) => {
    const before = known;
    known = new Set(problems.map((problem) => JSON.stringify(problem)));
    for (const problem of problems) if (!before.has(JSON.stringify(problem))) report(problem);
  };
}
