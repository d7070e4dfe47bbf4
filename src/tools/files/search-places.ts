import { join } from "node:path";
import type { ToolContext } from "../runtime/tool.ts";
import { filesWith, toRipgrep } from "./ripgrep.ts";
import { walk } from "./walk.ts";
import { isTemporaryName, reservedFolder, type Place } from "./workspace-path.ts";

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
