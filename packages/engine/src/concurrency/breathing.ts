import { setImmediate as nextTurn } from "node:timers/promises";

/**
 * For long loops: call it often; after 15 ms of work it lets other work run, and then throws when `signal` has aborted.
 */
export function breathing(signal: AbortSignal): () => Promise<void> | undefined {
  let since = performance.now();
  return () => {
    if (performance.now() - since < 15) return undefined;
    return nextTurn().then(() => {
      since = performance.now();
      signal.throwIfAborted();
    });
  };
}
