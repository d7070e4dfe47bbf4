import { closeSync, constants, fstatSync, openSync, readSync, realpathSync, statSync } from "node:fs";
import { sep } from "node:path";
import { errorMessage } from "@millrace/engine/errors/errors";

/** How to read and parse files. */
export interface ParsedFilesOptions<T> {
  /** Bytes; larger files are not read. */
  maxBytes: number;
  /** Line ends are `\n`. */
  parse: (text: string, file: string) => T;
  /** The value for an unusable file. */
  unusable: (problem: string, file: string) => T;
  /** Called each time a file is actually read. */
  onRead?: (file: string, value: T) => void;
}

/**
 * Parsed files of users. Each is checked at every use and reread when changed, so edits count at once and unchanged
 * files keep the same object. Never throws.
 */
export class ParsedFiles<T> {
  readonly #options: ParsedFilesOptions<T>;
  readonly #seen = new Map<string, { state: string; value: T }>();

  constructor(options: ParsedFilesOptions<T>) {
    this.#options = options;
  }

  /** A file's current value. With `root`, links that lead outside that folder are not followed. */
  read(file: string, root?: string): T {
    const state = stateOf(file);
    const seen = this.#seen.get(file);
    if (seen?.state === state) return seen.value;
    const { maxBytes, parse, unusable, onRead } = this.#options;
    const found = readText(file, maxBytes, root);
    const value = "text" in found ? parse(found.text, file) : unusable(found.problem, file);
    this.#seen.set(file, { state, value });
    onRead?.(file, value);
    return value;
  }

  /** Drops files that no longer exist. */
  keepOnly(files: Iterable<string>): void {
    const present = new Set(files);
    for (const file of this.#seen.keys()) if (!present.has(file)) this.#seen.delete(file);
  }
}

/** Whether `path` is `folder` or inside it; both with links resolved. */
export function isInside(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

/** A string that changes with the file; for an unreadable file the error message. */
export function stateOf(file: string): string {
  try {
    const stats = statSync(file);
    return `${stats.mtimeMs} ${stats.ctimeMs} ${stats.size} ${stats.ino}`;
  } catch (error) {
    return errorMessage(error);
  }
}

/** A regular file's text, or the problem. */
export function readText(file: string, maxBytes: number, root?: string): { text: string } | { problem: string } {
  const read = readBytes(file, root, (size) => (size > maxBytes ? undefined : size));
  if ("problem" in read) return read;
  return read.bytes === undefined ? { problem: `it is larger than ${maxBytes} bytes` } : decode(read.bytes);
}

/** A regular file's first `maxBytes` bytes, or the problem. */
export function readBeginning(file: string, maxBytes: number, root?: string): { bytes: Buffer } | { problem: string } {
  const read = readBytes(file, root, (size) => Math.min(size, maxBytes));
  return "problem" in read ? read : { bytes: read.bytes ?? Buffer.alloc(0) };
}

/** `wanted` returns how many bytes to read for a size; `undefined`: none. */
function readBytes(
  file: string,
  root: string | undefined,
  wanted: (size: number) => number | undefined,
): { bytes: Buffer | undefined } | { problem: string } {
  try {
    const real = realpathSync(file);
    if (root !== undefined && !isInside(realpathSync(root), real)) {
      return { problem: "it is a link that leads out of the folder of the project" };
    }
    // Does not block on pipes, and opens exactly the checked path.
    const descriptor = openSync(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const stats = fstatSync(descriptor);
      if (!stats.isFile()) return { problem: "it is not a regular file" };
      const size = wanted(stats.size);
      if (size === undefined) return { bytes: undefined };
      const bytes = Buffer.alloc(size);
      return { bytes: bytes.subarray(0, readSync(descriptor, bytes, 0, size, 0)) };
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    return { problem: errorMessage(error) };
  }
}

function decode(bytes: Uint8Array): { text: string } | { problem: string } {
  if (bytes.includes(0)) return { problem: "it is not text: it holds a zero byte" };
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return { text: text.replaceAll("\r\n", "\n") };
  } catch {
    return { problem: "it is not UTF-8 text" };
  }
}
