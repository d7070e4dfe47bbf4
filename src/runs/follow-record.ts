import { setImmediate as nextTurn } from "node:timers/promises";
import { isAppError } from "../errors.ts";
import type { RunEvent, SessionNews } from "../events.ts";
import type { Run } from "../storage/records.ts";
import { followRun, type RunSources } from "./follow.ts";
import type { SessionFeeds } from "./session-feeds.ts";
import { isOver } from "./status.ts";

/** Runs that a reader who comes back is given at most, and how many are read in one go. */
const runsReplayed = 1000;
const runsAtOnce = 50;

/**
 * What a session's record tells: a batch of events of one of its runs; that a run is over, with its row then (`undefined`
 * when it was removed); once, that all which had happened before is told; something that no run tells.
 */
export type RecordItem =
  | { run: Run; events: RunEvent[] }
  | { run: Run; ended: Run | undefined }
  | { caughtUp: true }
  | { news: SessionNews };

/**
 * What the runs of a session tell, one after the other in the order in which they begin; never ends by itself but when the
 * session or the server goes. It begins with all runs that were not over at `since` (milliseconds since 1970), else with
 * the newest one: what came before that is in the session's state. A session that does not exist yet has an empty record.
 */
export async function* followRecord(
  sources: RunSources & { feeds: SessionFeeds },
  sessionId: string,
  since: number | undefined,
  signal: AbortSignal,
): AsyncGenerator<RecordItem> {
  // Opened before anything is looked at: what begins meanwhile is not missed.
  const coming = sources.feeds.open(sessionId, signal);
  const seen = new Set<string>();
  try {
    const kept = await keptRuns(sources, sessionId, since);
    const newest = kept.at(-1);
    const told = newest === undefined ? -1 : await lastTold(sources, newest);
    for (const run of kept) {
      seen.add(run.run_id);
      yield* recordOf(sources, run, signal, run === newest ? told : undefined);
    }
    if (newest === undefined) yield { caughtUp: true };
    for await (const item of coming.items) {
      if ("news" in item) {
        yield item;
        continue;
      }
      // One that began between the two looks is in both.
      if (seen.delete(item.run_id)) continue;
      const run = sources.active.get(item.run_id)?.run ?? (await sources.storage.runs.get(item.run_id));
      if (run !== undefined) yield* recordOf(sources, run, signal);
    }
  } finally {
    coming.close();
  }
}

/** The id of the last event that a run has told so far, -1 before its first. */
async function lastTold({ active, storage }: RunSources, { run_id }: Run): Promise<number> {
  const log = active.get(run_id)?.log;
  return log === undefined ? storage.events.last(run_id) : log.head - 1;
}

/** The runs with which the record begins, oldest first. */
async function keptRuns({ active, storage }: RunSources, sessionId: string, since: number | undefined): Promise<Run[]> {
  // What has come after it and was stopped in the queue has told nothing, and is no reason to leave it out.
  const walking = [...active.values()].find((one) => one.walking && one.run.session_id === sessionId);
  if (since === undefined && walking !== undefined) return [walking.run];
  const kept = new Map<string, Run>();
  for (let offset = 0; offset < runsReplayed; offset += runsAtOnce) {
    const page = await storage.runs.list(sessionId, { limit: runsAtOnce, offset });
    for (const row of page) {
      const found = active.get(row.run_id);
      if (row.status === "pending" && found?.walking !== true) continue;
      // All that it has told is known, and with it what came before.
      const isKnown = since !== undefined && isOver(row.status) && Date.parse(row.updated_at) < since;
      if (isKnown || (since === undefined && kept.size > 0)) return oldestFirst(kept);
      // One that has come meanwhile moves the others down.
      kept.set(row.run_id, found?.run ?? row);
    }
    if (page.length < runsAtOnce) break;
    await nextTurn();
  }
  return oldestFirst(kept);
}

function oldestFirst(runs: ReadonlyMap<string, Run>): Run[] {
  return [...runs.values()].toReversed();
}

/** A run from its beginning to its end. `told`: the last event it had told when its reader came. */
async function* recordOf(
  sources: RunSources,
  run: Run,
  signal: AbortSignal,
  told?: number,
): AsyncGenerator<RecordItem> {
  // Of a run that was over, its end belongs to what had happened.
  const wasOpen = sources.active.has(run.run_id);
  let isBehind = told !== undefined;
  if (wasOpen && told === -1) {
    isBehind = false;
    yield { caughtUp: true };
  }
  try {
    for await (const events of followRun(sources, run.run_id, -1, signal)) {
      yield { run, events };
      if (!wasOpen || !isBehind || (events.at(-1)?.id ?? -1) < (told ?? -1)) continue;
      isBehind = false;
      yield { caughtUp: true };
    }
  } catch (error) {
    // It was deleted or rolled back before its turn to be read came.
    if (!isAppError(error) || error.code !== "not_found") throw error;
  }
  if (signal.aborted) return;
  const ended = await sources.storage.runs.get(run.run_id);
  // One that the server lets go of goes on after its restart.
  if (ended === undefined || isOver(ended.status)) yield { run, ended };
  if (isBehind) yield { caughtUp: true };
}
