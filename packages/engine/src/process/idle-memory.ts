import { performance } from "node:perf_hooks";
import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Milliseconds between two looks at whether anything is done. */
const lookInterval = 3_000;

/** Of that time, the share in which a server at rest may still do something: it looks at its clocks, and answers `/ok`. */
const quietShare = 0.02;

/** Looks in a row that have to find nothing done, once the start is over: whoever talks with the server seldom waits so long. */
const quietLooks = 10;

/** Bytes that the heap has to have grown by to be worth the tenths of a second that a collection takes. */
const worthwhile = 16 * 1024 * 1024;

/** Bytes of a heap that is left as it is: what is alive in it would take a second and more to look through. */
const tooLarge = 384 * 1024 * 1024;

/** A heap that can be looked at. */
export interface Heap {
  /** Bytes that it takes of the machine's memory, garbage and empty pages too. */
  size(): number;
  /** Whether the process has done next to nothing since it was asked last. */
  isQuiet(): boolean;
  /** Collects all garbage, and gives the pages that are left empty back to the machine. */
  collect(): void;
}

/**
 * Gives back what work has taken of the machine's memory once it is over: V8 keeps it, above all the space for new
 * objects, and a process that does nothing allocates nothing, so that nothing would ever begin a collection. It happens
 * only while `isIdle`: as soon as the start is over, then after half a minute in which nothing was done, and not again
 * before the heap has grown. Answers with what ends it; it keeps no process alive.
 */
export function returnIdleMemory(isIdle: () => boolean, heap: Heap = ownHeap()): () => void {
  let kept = 0;
  let looks = 0;
  const timer = setInterval(() => {
    looks = heap.isQuiet() && isIdle() ? looks + 1 : 0;
    if (looks < (kept === 0 ? 1 : quietLooks)) return;
    const size = heap.size();
    if (size - kept < worthwhile || size > tooLarge) return;
    heap.collect();
    kept = heap.size();
  }, lookInterval).unref();
  return () => clearInterval(timer);
}

function ownHeap(): Heap {
  let before = performance.eventLoopUtilization();
  return {
    size: () => getHeapStatistics().total_physical_size,
    isQuiet() {
      const now = performance.eventLoopUtilization();
      const { utilization } = performance.eventLoopUtilization(now, before);
      before = now;
      return utilization < quietShare;
    },
    collect: collectGarbage,
  };
}

/** V8 lends its collector only to contexts that are made while the flag is set; the program's own, and users' code, have none. */
function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("globalThis.gc");
  setFlagsFromString("--no-expose-gc");
  // As at the end of the memory: only this way the pages go back at once.
  if (typeof collect === "function") collect({ type: "major", execution: "sync", flavor: "last-resort" });
}
