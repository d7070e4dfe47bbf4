import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../../errors/errors.ts";
import type { RunEvent } from "../../run-events.ts";
import type { EventStore } from "../storage.ts";

/** Milliseconds between two looks at the log of a run that is not over. */
const pause = 100;
const readSize = 100;

/** Where the log of a run stands, and whether the run is over. A run that is over has stored all of its events. */
export interface LogStanding {
  last_id: number;
  is_over: boolean;
}

/**
 * `EventStore.follow` for any database: by looking at it again and again. The process that executes a run has its events
 * sooner, and does not come here.
 */
export async function* followEvents(
  { read, standing }: Pick<EventStore, "read"> & { standing: (runId: string) => Promise<LogStanding | undefined> },
  runId: string,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<RunEvent[], void> {
  let cursor = after;
  let found = await standing(runId);
  if (found === undefined) throw new AppError("not_found", "Run not found");
  while (found !== undefined) {
    while (cursor < found.last_id && !signal.aborted) {
      const batch = await read(runId, cursor, readSize);
      cursor = batch.at(-1)?.id ?? found.last_id;
      if (batch.length > 0) yield batch;
    }
    if (found.is_over || signal.aborted) return;
    // An abort only ends the wait.
    await sleep(pause, undefined, { signal, ref: false }).catch(() => undefined);
    found = await standing(runId);
  }
}
