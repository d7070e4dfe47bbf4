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
  const known = new Map<string, Checked<Found>>();
  return {
    get(path, modified, check) {
      const before = known.get(path);
      const checked = before?.modified === modified ? before : { modified, found: check() };
      known.delete(path);
      known.set(path, checked);
      for (const oldest of known.keys()) {
        if (known.size <= mostFiles) break;
        known.delete(oldest);
      }
      return checked.found;
    },
  };
}
