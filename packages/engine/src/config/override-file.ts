import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { AppError, type ErrorCode, errorMessage, hasCode, systemCode } from "../errors/errors.ts";

/** Maximum bytes of such a file; larger ones are not read. */
export const maxOverrideFileBytes = 512 * 1024;

/** Called once for each unusable state of a file. */
export type WarnOfFile = (warning: { file: string; problem: string }) => void;

/** A file's content: none, usable, or unusable with the reason. */
export type Found<T> = { kind: "none" } | { kind: "value"; value: T } | { kind: "unusable"; problem: string };

/** Parses a file's text: the value, or why it is invalid. */
export type ReadText<T> = (text: string) => { value: T } | { problem: string };

/**
 * A file with which a user overrides something. It is checked on every use and read again after a change, so edits
 * apply from the next use on; problems are values, never exceptions.
 */
export class OverrideFile<T> {
  readonly path: string;
  readonly #readText: ReadText<T>;
  readonly #warn: WarnOfFile;
  #seen: { state: string; found: Found<T> } | undefined;

  constructor(path: string, readText: ReadText<T>, warn: WarnOfFile) {
    this.path = path;
    this.#readText = readText;
    this.#warn = warn;
  }

  /** The file's current content. */
  read(): Found<T> {
    const state = this.#state();
    if (this.#seen?.state === state) return this.#seen.found;
    const found = state === "" ? { kind: "none" as const } : this.#load();
    this.#seen = { state, found };
    if (found.kind === "unusable") this.#warn({ file: this.path, problem: found.problem });
    return found;
  }

  /** Forgets the content and the warnings given. */
  forget(): void {
    this.#seen = undefined;
  }

  /**
   * Writes the file atomically: a temporary file is renamed. Throws `storage_full`, `storage_readonly` or `storage_io`,
   * leaving the old file in place. `mode`: its permissions.
   */
  write(text: string, mode = 0o666): void {
    const temporary = join(dirname(this.path), `.${basename(this.path)}.${process.pid}.tmp`);
    try {
      mkdirSync(dirname(this.path), { recursive: true });
      writeFileSync(temporary, text, { flush: true, mode });
      renameSync(temporary, this.path);
    } catch (error) {
      removeQuietly(temporary);
      throw unwritable(this.path, error);
    } finally {
      this.forget();
    }
  }

  /** Removes the file; a missing one is fine. Throws as `write` does. */
  remove(): void {
    try {
      rmSync(this.path, { force: true });
    } catch (error) {
      throw unwritable(this.path, error);
    } finally {
      this.forget();
    }
  }

  /** A fingerprint that changes with the file; empty if missing. */
  #state(): string {
    try {
      const stats = statSync(this.path, { throwIfNoEntry: false });
      return stats === undefined ? "" : `${stats.mtimeMs} ${stats.ctimeMs} ${stats.size} ${stats.ino}`;
    } catch (error) {
      // A part of the path is not a folder, or is not accessible.
      return hasCode(error, "ENOTDIR") ? "" : errorMessage(error);
    }
  }

  #load(): Found<T> {
    try {
      const stats = statSync(this.path);
      if (!stats.isFile()) return { kind: "unusable", problem: "it is not a file" };
      if (stats.size > maxOverrideFileBytes) {
        return { kind: "unusable", problem: `it has ${stats.size} bytes, at most ${maxOverrideFileBytes} are read` };
      }
      const text = new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(this.path));
      const read = this.#readText(text.replaceAll("\r\n", "\n"));
      return "value" in read ? { kind: "value", value: read.value } : { kind: "unusable", problem: read.problem };
    } catch (error) {
      const problem = error instanceof TypeError ? "it is not UTF-8 text" : errorMessage(error);
      return { kind: "unusable", problem };
    }
  }
}

function removeQuietly(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // Cleaning up may fail as well; report the first failure.
  }
}

const codes: Record<string, ErrorCode> = {
  ENOSPC: "storage_full",
  EDQUOT: "storage_full",
  EACCES: "storage_readonly",
  EPERM: "storage_readonly",
  EROFS: "storage_readonly",
};

function unwritable(path: string, cause: unknown): AppError {
  return new AppError(codes[systemCode(cause)] ?? "storage_io", `The file ${path} cannot be changed.`, {
    suggestion: "Look at the space and the permissions of the data folder; what stood there before still counts.",
    cause,
  });
}
