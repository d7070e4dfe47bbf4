import { readdir, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";

/** Days that builds of other sources are kept: an older server may still serve them. */
const keptDays = 1;
/** The name of a build, which is the hash of its sources, and of one under way, with the number of its process. */
const nameOfBuild = /^[\da-f]{16}(?:\.\d+)?$/u;

/** Removes old builds beside `output`, and nothing else that lies there. Throws what the file system throws. */
export async function removeOldBuilds(output: string): Promise<void> {
  const folder = dirname(output);
  const oldest = Date.now() - keptDays * 86_400_000;
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    if (path === output || !nameOfBuild.test(name) || (await stat(path)).mtimeMs >= oldest) continue;
    await rm(path, { recursive: true, force: true });
  }
}
