import { LRUCache } from "lru-cache";

/** Failures kept for a circuit, characters of each, and circuits at most: the one longest without a failure goes first. */
const [mostKept, longestMessage, mostCircuits] = [10, 200, 500];

/** A simulation that failed, and when (milliseconds since 1970). */
export interface Failure {
  message: string;
  at: number;
}

/** The failures of circuits, since the process has begun. */
export interface FailureHistory {
  /** Adds a failure; the same again, as the newest, is the one that is known. */
  add(circuit: string, message: string, at: number): void;
  /** Forgets those of a circuit, which has succeeded. */
  clear(circuit: string): void;
  /** The newest first. */
  of(circuit: string): readonly Failure[];
}

/** An empty history. */
export function createFailureHistory(): FailureHistory {
  const known = new LRUCache<string, Failure[]>({ max: mostCircuits });
  return {
    add(circuit, written, at) {
      const message = written.slice(0, longestMessage);
      const before = known.peek(circuit) ?? [];
      if (before[0]?.message === message) return;
      known.set(circuit, [{ message, at }, ...before].slice(0, mostKept));
    },
    clear: (circuit) => void known.delete(circuit),
    of: (circuit) => known.peek(circuit) ?? [],
  };
}
