import { LRUCache } from "lru-cache";

/** Files whose faults are remembered. */
const mostFiles = 100;

/** What was found in a file when it was as it is. */
interface Checked<Found> {
  modified: number;
  found: Found;
}

/** What a check has found in a file, until the file changes; the file longest unused is forgotten first. */
export interface FaultCache<Found> {
  /** `check` is asked where the file was not checked yet with this time (milliseconds since 1970). */
  get(path: string, modified: number, check: () => Found): Found;
}

/** An empty cache. */
export function createFaultCache<Found>(): FaultCache<Found> {
  const known = new LRUCache<string, Checked<Found>>({ max: mostFiles });
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
