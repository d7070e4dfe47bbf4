/** How long a change counts as recent, in milliseconds. */
const recentTime = 30_000;

/** Files changed by tools in the last 30 seconds, in any session. */
export interface ChangedFiles {
  /** Records a change; times are Unix ms. */
  record(path: string, at: number): void;
  /** Workspace paths, newest first. */
  recent(now: number): string[];
}

/** Creates an empty record. Each change drops expired ones. */
export function createChangedFiles(): ChangedFiles {
  const known = new Map<string, number>();
  const isRecent = (at: number, now: number): boolean => now - at < recentTime;
  return {
    record(path, at) {
      for (const [other, time] of known) if (!isRecent(time, at)) known.delete(other);
      known.delete(path);
      known.set(path, at);
    },
    recent: (now) => [...known].flatMap(([path, at]) => (isRecent(at, now) ? [path] : [])).toReversed(),
  };
}
