import { LRUCache } from "lru-cache";

/** Maximum files cached. */
const maxFiles = 100;

/** The findings for one version of a file. */
interface Checked<Found> {
  modified: number;
  found: Found;
}

/** An LRU cache of a file's findings, valid until the file changes. */
export interface FaultCache<Found> {
  /** Calls `check` if the file has no result for this modification time (milliseconds since 1970). */
  get(path: string, modified: number, check: () => Found): Found;
}

/** An empty cache. */
export function createFaultCache<Found>(): FaultCache<Found> {
  const known = new LRUCache<string, Checked<Found>>({ max: maxFiles });
  return {
    get(path, modified, check) {
      const before = known.get(path);
      if (before?.modified === modified) return before.found;
      const found = check();
      known.set(path, { modified, found });
      return found;
    },
  };
}
