import { LRUCache } from "lru-cache";

/**
 * Failures kept per circuit, characters of each, and maximum circuits: the one longest without a failure is evicted
 * first.
 */
const [maxKept, maxMessageLength, maxCircuits] = [10, 200, 500];

/** A failed simulation and its time (milliseconds since 1970). */
export interface Failure {
  message: string;
  at: number;
}

/** The failures of circuits since the process started. */
export interface FailureHistory {
  /** Adds a failure; a repeated one becomes the newest. */
  add(circuit: string, message: string, at: number): void;
  /** Clears the failures of a circuit after a success. */
  clear(circuit: string): void;
  /** Newest first. */
  of(circuit: string): readonly Failure[];
}

/** An empty history. */
export function createFailureHistory(): FailureHistory {
  const known = new LRUCache<string, Failure[]>({ max: maxCircuits });
  return {
    add(circuit, written, at) {
      const message = written.slice(0, maxMessageLength);
      const before = known.peek(circuit) ?? [];
      if (before[0]?.message === message) return;
      known.set(circuit, [{ message, at }, ...before].slice(0, maxKept));
    },
    clear: (circuit) => void known.delete(circuit),
    of: (circuit) => known.peek(circuit) ?? [],
  };
}
