import { join } from "node:path";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { endGroup, keepGroup } from "@millrace/engine/concurrency/process-group";
import type { ToolContext } from "../runtime/tool.ts";
import { walk } from "./walk.ts";
import { isTemporaryName, type Place, reservedFolder } from "./workspace-path.ts";

/** The files below a folder that have to be looked at, level by level and by name; `isNarrowed`: others hold no match. */
export interface SearchPlaces {
  places: AsyncIterable<Place> | Iterable<Place>;
  isNarrowed: boolean;
}

/**
 * Where a search has to look. `program` is ripgrep's, or `null`: then every file is a place. It only narrows the search: what
 * it finds is opened and looked at by the safe way of the file tools, so that a link put in its way tells nothing.
 */
export async function searchPlaces(
  context: ToolContext,
  start: Place,
  wanted: { regex: string; isLiteral: boolean; largest: number },
  program: string | null,
): Promise<SearchPlaces> {
  const expression = wanted.isLiteral ? wanted.regex : toRipgrep(wanted.regex);
  const found =
    program === null || expression === undefined
      ? undefined
      : await filesWith(program, expression, {
          folder: start.real,
          largest: wanted.largest,
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
  return path.some(isTemporaryName) || (isWorkspace && path[0]?.toLowerCase() === reservedFolder);
}

/** The order of a walk: what is higher comes first, and what is in the folder that comes first. */
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

/** Bytes of names that are taken; a search that finds more files is not narrowed by them. */
const mostBytes = 16 * 1024 * 1024;

/** What RE2 means by its classes is ASCII; ripgrep's engine means Unicode by the same letters. */
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

/** Where ripgrep's program is; `null` where its package has none for this machine. */
export function ripgrepPath(): Promise<string | null> {
  known ??= findProgram();
  return known;
}

async function findProgram(): Promise<string | null> {
  try {
    // It throws where the package has no program for this machine.
    const { rgPath } = await import("@vscode/ripgrep");
    return existsSync(rgPath) ? rgPath : null;
  } catch {
    return null;
  }
}

/**
 * An expression in ripgrep's syntax that matches at least every line which the RE2 one matches; `undefined` where that
 * is not sure. What it finds is looked at again with the expression itself.
 */
export function toRipgrep(regex: string): string | undefined {
  const flags = /^\(\?i\)/u.exec(regex)?.[0] ?? "";
  const rest = regex.slice(flags.length);
  // Groups with a meaning of their own, and differences of classes, are read in another way.
  if (/\(\?(?!:)|--/u.test(rest)) return undefined;
  // What comes after the end of a line would be looked for after the `\r` too.
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

/** Within brackets only what means itself everywhere. */
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
  // The end of a line does not count as a part of it, whichever it is.
  return piece === "$" ? "\\r?$" : piece;
}

/**
 * The files below `folder` in which ripgrep finds the expression, as paths from there; `undefined` when it cannot say,
 * and all files have to be looked at. It sees neither links nor what the walk leaves out, and only names leave it.
 */
export async function filesWith(
  program: string,
  expression: string,
  { folder, largest, isFixed, signal }: { folder: string; largest: number; isFixed: boolean; signal: AbortSignal },
): Promise<string[] | undefined> {
  const options = ["--no-config", "--files-with-matches", "--null", "--hidden", "--no-ignore", "--no-messages"];
  const limits = ["--max-filesize", String(largest), "--glob", "!.git/", "--glob", "!node_modules/"];
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
    if (bytes > mostBytes) giveUp();
    else chunks.push(chunk);
  });
  try {
    const code = await promise;
    signal.throwIfAborted();
    // 1: nothing was found. Anything else, such as an expression that it does not take, says nothing.
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
