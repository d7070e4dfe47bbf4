import { watch, type FSWatcher } from "node:fs";
import { basename, join } from "node:path";
import { join as joinPath } from "node:path/posix";
import { errorMessage, hasCode } from "@millrace/engine/errors/errors";
import { isWatchedFolder } from "./watched-path.ts";

/** The watched folders of a workspace, one watch each; paths are relative to the workspace. */
export interface FolderWatches {
  count(): number;
  /** Watches a folder, unless it is watched already or missing. */
  open(folder: string): void;
  /** Stops watching a folder and those inside it; `""` means all. */
  shut(folder: string): void;
}

/**
 * Creates an empty set of watches. `onSign`: a path may have changed. `onLeftOut`: a folder is not watched, and why.
 */
export function createFolderWatches(
  root: string,
  {
    maxFolders,
    onSign,
    onLeftOut,
  }: { maxFolders: number; onSign: (path: string) => void; onLeftOut: (reason: string) => void },
): FolderWatches {
  const watchers = new Map<string, FSWatcher>();
  const shut = (folder: string): void => {
    watchers.get(folder)?.close();
    watchers.delete(folder);
  };
  return {
    count: () => watchers.size,
    open(folder) {
      if (watchers.has(folder)) return;
      if (watchers.size >= maxFolders) {
        onLeftOut(
          `There are more than ${maxFolders} folders. Set MILLRACE_WORKSPACE to a smaller one to have all watched.`,
        );
        return;
      }
      try {
        const watcher = watch(join(root, folder), { persistent: false }, (_, name) => {
          const path = name === null ? folder : joinPath(folder, name);
          if (isWatchedFolder(path)) onSign(path);
          // Events about the workspace itself also come under its own name.
          if (path === basename(root)) onSign("");
        });
        watcher.on("error", (error) => {
          shut(folder);
          if (!isAbsent(error)) onLeftOut(`"${folder}" cannot be watched any more: ${errorMessage(error)}.`);
        });
        watchers.set(folder, watcher);
      } catch (error) {
        // Its parent reports a deleted folder.
        if (isAbsent(error)) return;
        onLeftOut(`The system gives no more watches (${errorMessage(error)}). Raise fs.inotify.max_user_watches.`);
      }
    },
    shut(folder) {
      for (const other of watchers.keys()) {
        if (folder === "" || other === folder || other.startsWith(`${folder}/`)) shut(other);
      }
    },
  };
}

/** Whether an error means a missing path. */
export function isAbsent(error: unknown): boolean {
  return hasCode(error, "ENOENT", "ENOTDIR");
}
