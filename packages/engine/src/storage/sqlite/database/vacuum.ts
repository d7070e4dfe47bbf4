import { setImmediate as nextTurn } from "node:timers/promises";
import { retryBusy, type Database } from "./database.ts";

/** Pages given back at once: about a millisecond's work. */
const pagesAtOnce = 64;

/** Gives the free pages of a database back to the file system, a few at a time, so that others work meanwhile. */
export async function vacuum(database: Database): Promise<void> {
  const free = (): number => Number(database.raw.pragma("freelist_count", { simple: true }));
  for (let left = database.read(free); left > 0;) {
    await retryBusy(() =>
      database.transaction(() => {
        database.raw.pragma(`incremental_vacuum(${pagesAtOnce})`);
      }),
    );
    const now = database.read(free);
    // A file from before pages could be given back one by one keeps them; new rows use them again.
    if (now >= left) return;
    left = now;
    await nextTurn();
  }
}
