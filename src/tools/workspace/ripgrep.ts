import { join } from "node:path";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { endGroup, keepGroup } from "@millrace/engine/concurrency/process-group";
import type { ToolContext } from "../runtime/tool.ts";
import { walk } from "./walk.ts";
import { isReservedName, isTemporaryName, type Place } from "./workspace-path.ts";

/** The files to search, by level and name. `isNarrowed`: other files have no match. */
export interface SearchPlaces {
  places: AsyncIterable<Place> | Iterable<Place>;
  isNarrowed: boolean;
}

/**
 * The files to search, narrowed by ripgrep; all files if `program` is `null`. Every file is still opened and checked by
 * the file tools, so a swapped-in link reveals nothing.
 */
export async function searchPlaces(
  context: ToolContext,
  start: Place,
  wanted: { regex: string; isLiteral: boolean; maxFileBytes: number },
  program: string | null,
): Promise<SearchPlaces> {
  const expression = wanted.isLiteral ? wanted.regex : toRipgrep(wanted.regex);
  const found =
    program === null || expression === undefined
      ? undefined
      : await filesWith(program, expression, {
          folder: start.real,
          maxFileBytes: wanted.maxFileBytes,
          isFixed: wanted.isLiteral,
          signal: context.signal,
        });
  if (found === undefined) return { places: filesBelow(context, start), isNarrowed: false };
  const names = found.map((path) => path.split("/")).filter((path) => !isOurs(path, start.real === context.workspace));
  const prefix = start.path === "." ? "" : `${start.path}/`;
  const places = names.toSorted(byLevel).map((path): Place => {
    return {
      path: prefix + path.join("/"),
      real: join(start.real, ...path),
      kind: "file",
      existing: start.real,
      missing: [],
    };
  });
  return { places, isNarrowed: true };
}

function isOurs(path: readonly string[], isWorkspace: boolean): boolean {
  return path.some(isTemporaryName) || (isWorkspace && isReservedName(path[0] ?? ""));
}

/** The order of `walk`: higher levels first, then by folder and name. */
function byLevel(one: readonly string[], other: readonly string[]): number {
  if (one.length !== other.length) return one.length - other.length;
  const at = one.findIndex((name, index) => name !== other[index]);
  return at === -1 ? 0 : (one[at] ?? "") < (other[at] ?? "") ? -1 : 1;
}

async function* filesBelow(context: ToolContext, start: Place): AsyncGenerator<Place> {
  for await (const entry of walk(context, start)) {
    if (entry.kind !== "file") continue;
    yield { path: entry.path, real: entry.real, kind: "file", existing: start.real, missing: [] };
  }
}

/** Maximum bytes of ripgrep's output; larger results do not narrow the search. */
const maxBytes = 16 * 1024 * 1024;

/** RE2's classes are ASCII; in ripgrep the same letters are Unicode. */
const classes: Readonly<Record<string, string>> = {
  d: "[0-9]",
  D: "[^0-9]",
  w: "[0-9A-Za-z_]",
  W: "[^0-9A-Za-z_]",
  s: "[\\t\\n\\f\\r ]",
  S: "[^\\t\\n\\f\\r ]",
  b: "(?-u:\\b)",
};

let known: Promise<string | null> | undefined;

/** The path of ripgrep; `null` if the package has none for this platform. */
export function ripgrepPath(): Promise<string | null> {
  known ??= findProgram();
  return known;
}

async function findProgram(): Promise<string | null> {
  try {
    // Throws if the package has no program for this platform.
    const { rgPath } = await import("@vscode/ripgrep");
    return existsSync(rgPath) ? rgPath : null;
  } catch {
    return null;
  }
}

/**
 * A ripgrep expression that matches at least every line the RE2 expression matches; `undefined` if that is not certain.
 * Matches are checked again with the original.
 */
export function toRipgrep(regex: string): string | undefined {
  const flags = /^\(\?i\)/u.exec(regex)?.[0] ?? "";
  const rest = regex.slice(flags.length);
  // Special groups and class differences have other meanings in ripgrep.
  if (/\(\?(?!:)|--/u.test(rest)) return undefined;
  // Text after `$` would also match after `\r`.
  if (/(?<!\\)(?:\\\\)*\$./su.test(rest)) return undefined;
  const written: string[] = [];
  let isInClass = false;
  for (const [piece] of rest.matchAll(/\\[^]|\[[^]|[^]/gu)) {
    const next = isInClass ? inClass(piece) : outsideClass(piece);
    if (next === undefined) return undefined;
    if (isInClass) isInClass = piece !== "]";
    else isInClass = piece.length === 2 && piece.startsWith("[");
    written.push(next);
  }
  return isInClass ? undefined : flags + written.join("");
}

/** In brackets only characters with the same meaning in both engines. */
function inClass(piece: string): string | undefined {
  return piece === "]" || !/^[[\]&~\\^:]/u.test(piece) ? piece : undefined;
}

function outsideClass(piece: string): string | undefined {
  if (piece.startsWith("\\")) {
    const letter = piece.slice(1);
    if (Object.hasOwn(classes, letter)) return classes[letter];
    return /^[!-/:-@[-`{-~]$/u.test(letter) ? piece : undefined;
  }
  if (piece.length === 2 && piece.startsWith("[")) return /^\[[\][&~\\:]/u.test(piece) ? undefined : piece;
  // `$` must also match before `\r`.
  return piece === "$" ? "\\r?$" : piece;
}

/**
 * Paths of files below `folder` in which ripgrep finds the expression; `undefined` if it cannot tell and all files must
 * be searched. Skips links and what `walk` leaves out; only names are used.
 */
export async function filesWith(
  program: string,
  expression: string,
  {
    folder,
    maxFileBytes,
    isFixed,
    signal,
  }: { folder: string; maxFileBytes: number; isFixed: boolean; signal: AbortSignal },
): Promise<string[] | undefined> {
  const options = ["--no-config", "--files-with-matches", "--null", "--hidden", "--no-ignore", "--no-messages"];
  const limits = ["--max-filesize", String(maxFileBytes), "--glob", "!.git/", "--glob", "!node_modules/"];
  const child = spawn(
    program,
    [...options, ...limits, ...(isFixed ? ["--fixed-strings"] : []), "--regexp", expression, "./"],
    {
      cwd: folder,
      env: {},
      stdio: ["ignore", "pipe", "ignore"],
      detached: true,
    },
  );
  const { promise, resolve } = Promise.withResolvers<number | null>();
  const chunks: Buffer[] = [];
  let bytes = 0;
  if (child.pid !== undefined) keepGroup(child.pid);
  const giveUp = (): void => resolve(null);
  signal.addEventListener("abort", giveUp, { once: true });
  child.once("error", giveUp);
  child.once("close", resolve);
  child.stdout.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > maxBytes) giveUp();
    else chunks.push(chunk);
  });
  try {
    const code = await promise;
    signal.throwIfAborted();
    // Exit code 1: no match. Other codes, such as for an invalid expression, mean unknown.
    if (code !== 0 && code !== 1) return undefined;
    return Buffer.concat(chunks)
      .toString("utf8")
      .split("\0")
      .filter((path) => path !== "")
      .map((path) => path.replace(/^\.\//u, ""));
  } finally {
    signal.removeEventListener("abort", giveUp);
    if (child.pid !== undefined) endGroup(child.pid);
    child.stdout.destroy();
  }
}
