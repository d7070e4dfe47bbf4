import { readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { z } from "zod";

const PackageFile = z.object({ version: z.string() });

/** The version of a package that a module finds beside it or above it; `undefined` where there is none. */
export function versionFor(modulePath: string, packageName: string): string | undefined {
  for (let folder = dirname(realpathSync(modulePath)); ; folder = dirname(folder)) {
    const version = versionIn(join(folder, "node_modules", packageName, "package.json"));
    if (version !== undefined || folder === dirname(folder)) return version;
  }
}

function versionIn(path: string): string | undefined {
  try {
    return PackageFile.safeParse(JSON.parse(readFileSync(path, "utf8"))).data?.version;
  } catch {
    // Most folders on the way up have no packages; what is broken there the import itself has told.
    return undefined;
  }
}

/** Whether a version comes before another one; of what follows the three numbers nothing is read. */
export function isBefore(version: string, other: string): boolean {
  const [left, right] = [version, other].map((text) => text.split(/[.-]/u).slice(0, 3).map(Number));
  const different = [0, 1, 2].find((part) => left?.[part] !== right?.[part]) ?? 0;
  return (left?.[different] ?? 0) < (right?.[different] ?? 0);
}
