import { readdirSync, watch, type FSWatcher } from "node:fs";
import { extname, join } from "node:path";

/** Extensions of program files. */
const watchedEndings = new Set([".cjs", ".cts", ".js", ".json", ".mjs", ".mts", ".ts", ".tsx", ".yaml", ".yml"]);

function isWatchedFile(name: string): boolean {
  return watchedEndings.has(extname(name)) || name === ".env" || name.startsWith(".env.");
}

/** Packages, and data that programs keep next to their sources. */
function isPassedOver(folder: string): boolean {
  return folder.startsWith(".") || folder === "node_modules" || folder === "dist";
}

/**
 * Yields a path when program files of a folder change, including new folders, until aborted. Changes within `pause`
 * milliseconds count as one. Each folder has its own watcher, so that packages are never watched.
 */
export async function* watchFolder(
  folder: string,
  { pause, signal }: { pause: number; signal: AbortSignal },
): AsyncGenerator<string> {
  const watchers = new Map<string, FSWatcher>();
  let changed: string | undefined;
  let wake = Promise.withResolvers<void>();
  let timer: NodeJS.Timeout | undefined;
  const noteChange = (path: string): void => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      changed = path;
      wake.resolve();
    }, pause);
  };
  const look = (place: string): void => {
    if (watchers.has(place)) return;
    const watcher = watch(place, (_event, name) => {
      if (name === null) return;
      if (isWatchedFile(name)) noteChange(join(place, name));
      else if (!isPassedOver(name) && extname(name) === "") lookInto(join(place, name));
    });
    // Deleting a folder ends its watcher.
    watcher.on("error", () => watchers.delete(place));
    watchers.set(place, watcher);
  };
  const lookInto = (place: string): void => {
    for (const found of foldersBelow(place)) look(found);
  };
  const onAbort = (): void => wake.resolve();
  signal.addEventListener("abort", onAbort);
  try {
    lookInto(folder);
    while (!signal.aborted) {
      await wake.promise;
      wake = Promise.withResolvers<void>();
      const path = changed;
      changed = undefined;
      if (path !== undefined && !signal.aborted) yield path;
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
    clearTimeout(timer);
    for (const watcher of watchers.values()) watcher.close();
  }
}

/** A folder and all folders below it; empty if the path is not a folder, or no longer exists. */
function foldersBelow(folder: string): string[] {
  try {
    const below = readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !isPassedOver(entry.name))
      .flatMap(({ name }) => foldersBelow(join(folder, name)));
    return [folder, ...below];
  } catch {
    return [];
  }
}
