import { readdir } from "node:fs/promises";
import { AppError } from "@millrace/engine/errors/errors";
import { isTemporaryName, reservedFolder, withFolder, type Place } from "./workspace-path.ts";

/** The error for a place where nothing is; it names a similar one of the same folder if there is one. */
export async function notFound(workspace: string, place: Place): Promise<AppError> {
  const [wanted = ""] = place.missing;
  const names = await withFolder(workspace, place.existing, (at) => readdir(at(".")));
  const near = nearest(wanted, names);
  if (near === undefined) {
    return new AppError("not_found", `"${place.path}" does not exist.`, {
      suggestion: "list_files shows what is there.",
    });
  }
  const folder = place.path.split("/").slice(0, -place.missing.length);
  const suggested = [...folder, near, ...place.missing.slice(1)].join("/");
  return new AppError("not_found", `"${place.path}" does not exist.`, { suggestion: `Did you mean "${suggested}"?` });
}

/** The most similar name that differs in at most a third of its letters; case does not count. */
function nearest(wanted: string, names: string[]): string | undefined {
  const target = wanted.toLowerCase();
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(target.length / 3)) + 1;
  for (const name of names.slice(0, 2000)) {
    if (name === reservedFolder || isTemporaryName(name)) continue;
    const distance = editDistance(target, name.toLowerCase(), bestDistance);
    if (distance < bestDistance) [best, bestDistance] = [name, distance];
  }
  return best;
}

/** Levenshtein's distance, or `limit` as soon as it cannot be smaller. */
function editDistance(one: string, other: string, limit: number): number {
  if (Math.abs(one.length - other.length) >= limit) return limit;
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= other.length; j += 1) {
      const swap = (row[j - 1] ?? 0) + (one[i - 1] === other[j - 1] ? 0 : 1);
      next.push(Math.min(swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    if (Math.min(...next) >= limit) return limit;
    row = next;
  }
  return row[other.length] ?? limit;
}
