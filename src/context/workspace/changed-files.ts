/** Milliseconds for which a change is recent. */
const recentTime = 30_000;

/** The files of the workspace that tools have changed in the last 30 seconds, in any session. */
export interface ChangedFiles {
  /** Notes a change; times are milliseconds since 1970. */
  note(path: string, at: number): void;
  /** The last changed first, as the workspace names them. */
  recent(now: number): string[];
}

/** An empty record. Each change drops those that are no longer recent. */
export function createChangedFiles(): ChangedFiles {
  const known = new Map<string, number>();
  const isRecent = (at: number, now: number): boolean => now - at < recentTime;
  return {
    note(path, at) {
      for (const [other, time] of known) if (!isRecent(time, at)) known.delete(other);
      known.delete(path);
      known.set(path, at);
    },
    recent: (now) => [...known].flatMap(([path, at]) => (isRecent(at, now) ? [path] : [])).toReversed(),
  };
}
