import { bulkhead } from "cockatiel";

/** Bounds how many requests to a provider are under way at once. */
export interface Bulkhead {
  /** Waits for a place, first come, first served, and gives what frees it. Rejects with the signal's reason. */
  enter(signal: AbortSignal | undefined): Promise<() => void>;
}

/** A bulkhead with so many places; any number may wait. */
export function createBulkhead(places: number): Bulkhead {
  const policy = bulkhead(places, Infinity);
  return {
    async enter(signal) {
      signal?.throwIfAborted();
      const entered = Promise.withResolvers<() => void>();
      const left = Promise.withResolvers<void>();
      const held = policy.execute(async () => {
        entered.resolve(left.resolve);
        await left.promise;
      }, signal);
      held.catch((error: unknown) => entered.reject(error));
      const onAbort = (): void => {
        // A place that comes free in this very moment is handed on.
        left.resolve();
        entered.reject(signal?.reason);
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      try {
        return await entered.promise;
      } finally {
        signal?.removeEventListener("abort", onAbort);
      }
    },
  };
}
