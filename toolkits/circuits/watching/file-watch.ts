import { lstat, opendir } from "node:fs/promises";
import { join } from "node:path";
import { join as joinPath } from "node:path/posix";
import { errorMessage } from "@millrace/engine/errors/errors";
import type { FileNews } from "../../../src/events.ts";
import { Feed } from "@millrace/engine/concurrency/feed";
import type { Logger } from "@millrace/engine/logger";
import { createDebounce, systemClock, type Clock, type Debounce } from "./debounce.ts";
import { changesBetween, type FileChange, type FileState } from "./file-changes.ts";
import { createFolderWatches, isAbsent, type FolderWatches } from "./folder-watches.ts";
import { isWatchedFile, isWatchedFolder } from "./watched-path.ts";
import { onAbort } from "@millrace/engine/concurrency/abort";

/** Maximum watched folders and known files: each folder uses one of the system's watches. */
const defaultLimits = { folders: 5000, files: 200_000 };

/** Poll interval for a missing workspace: no event reports its return. */
const awayMilliseconds = 1000;

/** Options of a watch: a listener, limits, and a clock. */
export interface FileWatchOptions {
  logger: Pick<Logger, "info" | "warn">;
  onChange?: (change: FileChange) => void;
  limits?: { folders: number; files: number };
  clock?: Clock;
}

/**
 * Watches a workspace's files. Folders are scanned one after another so that the process stays responsive; folders are
 * watched, not single files. Links are not followed. Start it, and close it.
 */
export class FileWatch {
  readonly #root: string;
  readonly #options: FileWatchOptions;
  readonly #maxFiles: number;
  readonly #known = new Map<string, FileState>();
  readonly #folders: FolderWatches;
  readonly #feed = new Feed<FileNews>();
  readonly #debounce: Debounce;
  readonly #opened = Promise.withResolvers<void>();
  #work = Promise.resolve();
  /** The workspace folder when its watches were opened; `undefined`: it is missing. */
  #place: FileState | undefined;
  #stopLooking: (() => void) | undefined;
  #leftOut: string | null = null;
  #isClosed = false;

  /** `root` is absolute, with links resolved. */
  constructor(root: string, options: FileWatchOptions) {
    const { limits = defaultLimits, clock = systemClock } = options;
    this.#root = root;
    this.#options = options;
    this.#maxFiles = limits.files;
    this.#debounce = createDebounce((paths) => {
      this.#work = this.#work.then(() => this.#settle(paths));
    }, clock);
    this.#folders = createFolderWatches(root, {
      maxFolders: limits.folders,
      onSign: (path) => this.#debounce.add(path),
      onLeftOut: (reason) => this.#leaveOut(reason),
    });
  }

  /** Starts in the background; changes before the first scan is complete may be missed. */
  start(): void {
    this.#work = this.#work.then(() => this.#begin());
  }

  /** Yields the status once all folders are watched, then every change, until aborted. */
  async *follow(signal: AbortSignal): AsyncGenerator<FileNews[]> {
    await eitherOf(this.#opened.promise, signal);
    if (signal.aborted) return;
    yield* this.#feed.follow(() => Promise.resolve([this.#status()]), signal);
  }

  /** Stops, and waits for work in progress. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#debounce.close();
    this.#stopLooking?.();
    this.#folders.shut("");
    await this.#work;
  }

  async #begin(): Promise<void> {
    const began = performance.now();
    this.#place = await stateOf(this.#root, "");
    await this.#scan("");
    this.#opened.resolve();
    if (this.#isClosed) return;
    if (this.#place === undefined) this.#lookForIt();
    const [folders, files] = [this.#folders.count(), this.#known.size];
    this.#options.logger.info({ folders, files, milliseconds: Math.round(performance.now() - began) }, "files_watched");
  }

  async #scan(folder: string): Promise<void> {
    for await (const [path, state] of this.#entriesOf(folder)) {
      this.#remember(path, state);
      if (state.isFolder) await this.#scan(path);
    }
  }

  /** Watches a folder before reading it, so that files created meanwhile are not missed. */
  async *#entriesOf(folder: string): AsyncGenerator<[path: string, state: FileState]> {
    if (this.#isClosed) return;
    this.#folders.open(folder);
    for (const path of await this.#namesIn(folder)) {
      const state = await stateOf(this.#root, path);
      if (this.#isClosed) return;
      if (state !== undefined) yield [path, state];
    }
  }

  async #namesIn(folder: string): Promise<string[]> {
    const names: string[] = [];
    try {
      for await (const entry of await opendir(join(this.#root, folder))) {
        const path = joinPath(folder, entry.name);
        if (entry.isDirectory() ? isWatchedFolder(path) : isWatchedFile(path)) names.push(path);
      }
    } catch (error) {
      if (!isAbsent(error)) this.#leaveOut(`"${folder}" cannot be read: ${errorMessage(error)}.`);
    }
    return names;
  }

  async #settle(paths: readonly string[]): Promise<void> {
    const place = await stateOf(this.#root, "");
    if (place?.id !== this.#place?.id || place?.born !== this.#place?.born) await this.#beginAnew(place);
    else await this.#settleInside(paths.filter((path) => path !== ""));
    if (this.#place === undefined && !this.#isClosed) this.#lookForIt();
  }

  async #settleInside(paths: readonly string[]): Promise<void> {
    const seen = new Map<string, FileState | undefined>();
    for (const path of paths) await this.#look(path, seen);
    if (this.#isClosed) return;
    const changes = changesBetween(this.#known, seen);
    for (const [path, state] of seen) this.#remember(path, state);
    this.#publish(changes);
  }

  /** The workspace was removed or replaced, and its watches with it. */
  async #beginAnew(place: FileState | undefined): Promise<void> {
    this.#place = place;
    this.#folders.shut("");
    this.#leftOut = null;
    const before = new Map(this.#known);
    this.#known.clear();
    await this.#scan("");
    if (this.#isClosed) return;
    const { time, type, ...status } = this.#status();
    if (place === undefined) this.#options.logger.warn(status, "files_not_all_watched");
    else this.#options.logger.info(status, "files_watched");
    this.#feed.publish({ type, ...status, time });
    const paths = new Set([...before.keys(), ...this.#known.keys()]);
    this.#publish(changesBetween(before, new Map([...paths].map((path) => [path, this.#known.get(path)]))));
  }

  #lookForIt(): void {
    const { clock = systemClock } = this.#options;
    this.#stopLooking?.();
    this.#stopLooking = clock.after(awayMilliseconds, () => this.#debounce.add(""));
  }

  #publish(changes: readonly FileChange[]): void {
    for (const change of changes) {
      this.#options.onChange?.(change);
      this.#feed.publish({ type: "file_changed", ...change, time: new Date().toISOString() });
    }
  }

  /** The state of a path now; for a new or removed folder also its contents. */
  async #look(path: string, seen: Map<string, FileState | undefined>): Promise<void> {
    if (seen.has(path) || this.#isClosed) return;
    const [was, is] = [this.#known.get(path), await stateOf(this.#root, path)];
    if (was === undefined && is === undefined) return;
    seen.set(path, is);
    // A folder created after a deletion may reuse its inode, but has no watch.
    if (was?.id === is?.id && was?.isFolder === is?.isFolder && was?.born === is?.born) return;
    if (was?.isFolder === true) {
      // A folder's watch follows a move and would report its contents under the old name.
      this.#folders.shut(path);
      const inside = [...this.#known.keys()].filter((other) => other.startsWith(`${path}/`));
      for (const inner of inside) await this.#look(inner, seen);
    }
    if (is?.isFolder !== true) return;
    for await (const [inner] of this.#entriesOf(path)) await this.#look(inner, seen);
  }

  #remember(path: string, state: FileState | undefined): void {
    if (state === undefined) this.#known.delete(path);
    else if (this.#known.size < this.#maxFiles || this.#known.has(path)) this.#known.set(path, state);
    else this.#leaveOut(`There are more than ${this.#maxFiles} files to watch.`);
  }

  #leaveOut(reason: string): void {
    if (this.#leftOut !== null) return;
    this.#leftOut = reason;
    this.#options.logger.warn({ folders: this.#folders.count(), reason }, "files_not_all_watched");
    this.#feed.publish(this.#status());
  }

  #status(): Extract<FileNews, { type: "file_watch" }> {
    const reason =
      this.#place === undefined ? "The workspace is not there. It is watched when it is back." : this.#leftOut;
    const files = [...this.#known.values()].filter(({ isFolder }) => !isFolder).length;
    return {
      type: "file_watch",
      status: reason === null ? "on" : "part",
      folders: this.#folders.count(),
      files,
      reason,
      time: new Date().toISOString(),
    };
  }
}

/** Waits until `work` is done, or the signal aborts. */
async function eitherOf(work: Promise<void>, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const forget = onAbort(signal, resolve);
  try {
    await Promise.race([work, promise]);
  } finally {
    forget();
  }
}

/** `undefined` if the path is missing or not reported. */
async function stateOf(root: string, path: string): Promise<FileState | undefined> {
  try {
    const stats = await lstat(join(root, path), { bigint: true });
    const isFolder = stats.isDirectory();
    if (isFolder ? !isWatchedFolder(path) : !isWatchedFile(path)) return undefined;
    const { dev, ino, birthtimeNs: born, mtimeNs: modified, size } = stats;
    return { isFolder, id: `${dev}:${ino}`, born, modified, size };
  } catch {
    // Missing, or in an inaccessible folder: nothing to report.
    return undefined;
  }
}
