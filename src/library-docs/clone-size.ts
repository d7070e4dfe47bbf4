import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { errorMessage } from "@millrace/engine/errors/errors";
import { hasCode } from "@millrace/engine/errors/system-code";

/** What a clone may take on the disk: bytes, its history of one state included, and files and folders. */
export interface CloneLimits {
  bytes: number;
  files: number;
}

/** Much more than all documentation that models could be given to read. */
export const cloneLimits: CloneLimits = { bytes: 512 * 1024 * 1024, files: 50_000 };

/**
 * What is too large of a folder, `undefined` while nothing is. Looks no further than the limits. What goes while it
 * looks does not count: git moves its files about.
 */
export async function tooLarge(folder: string, limits: CloneLimits): Promise<string | undefined> {
  let [bytes, files] = [0, 0];
  const open = [folder];
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    for (const entry of await readdir(place, { withFileTypes: true }).catch(unlessGone([]))) {
      const path = join(place, entry.name);
      if (entry.isDirectory()) open.push(path);
      else bytes += (await lstat(path).catch(unlessGone({ size: 0 }))).size;
      files += 1;
      if (bytes > limits.bytes) return `more than ${limits.bytes} bytes`;
      if (files > limits.files) return `more than ${limits.files} files and folders`;
    }
  }
  return undefined;
}

function unlessGone<Value>(value: Value): (error: unknown) => Value {
  return (error) => {
    if (hasCode(error, "ENOENT")) return value;
    throw new Error(`The size of a clone could not be measured: ${errorMessage(error)}`, { cause: error });
  };
}
