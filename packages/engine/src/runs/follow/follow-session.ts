import { setImmediate as nextTurn } from "node:timers/promises";
import { isAppError } from "../../errors/errors.ts";
import type { RunEvent } from "../../run-events.ts";
import type { Run } from "../../storage/records.ts";
import type { Storage } from "../../storage/storage.ts";
import { followRun, serverStopping, type RunSources, type SessionPublisher } from "./follow.ts";

/** Maximum number of runs that a reader of the whole session, or a returning reader, gets. */
const runsReplayed = 1000;
/** Runs per query. */
const pageSize = 50;

/** An event of one of a session's runs; `run_id` is empty for events outside of runs. */
export interface SessionEvent {
  run_id: string;
  event: RunEvent;
}

/**
 * From where a session is followed: `open`, the run that works now and all that come; `now`, only later events;
 * `all`, every run that is kept; or after the last event that the reader has.
 */
export type SessionPosition = "open" | "now" | "all" | { run_id: string; id: number };

/**
 * The events of a session's runs in batches, one run after the other in the order in which they start. Ends only when the
 * session is removed. Reads the logs of the runs without polling. Throws `server` when the server stops: after a restart
 * there may be more.
 */
export async function* followSession(
  sources: RunSources & { sessions: SessionPublisher },
  sessionId: string,
  place: SessionPosition,
  asked: AbortSignal,
): AsyncGenerator<SessionEvent[]> {
  const signal = AbortSignal.any([asked, sources.drained]);
  // Subscribes before the first query, so that no run is missed.
  const subscription = sources.sessions.open(sessionId, signal);
  const seen = new Set<string>();
  try {
    await subscription.ready;
    for (const { run_id, after } of await begunRuns(sources, sessionId, place)) {
      seen.add(run_id);
      yield* eventsOf(sources, run_id, after, signal);
    }
    for await (const item of subscription.items) {
      if ("news" in item) yield [{ run_id: "", event: { id: 0, event: "custom", namespace: [], data: item.news } }];
      // A run that began between the two queries is in both.
      else if (!seen.delete(item.run_id)) yield* eventsOf(sources, item.run_id, -1, signal);
    }
  } finally {
    subscription.close();
  }
  if (sources.drained.aborted && !asked.aborted) throw serverStopping();
}

async function begunRuns(
  { active, storage, sessions }: RunSources & { sessions: SessionPublisher },
  sessionId: string,
  place: SessionPosition,
): Promise<{ run_id: string; after: number }[]> {
  // A run that ends without having begun was announced before this reader came.
  const hasEmitted = ({ run_id }: Run): boolean => {
    const found = active.get(run_id);
    return found !== undefined && (found.isExecuting || found.ended);
  };
  if (place === "open" || place === "now") {
    const walking = [...active.values()].filter(({ run, isExecuting: is }) => run.session_id === sessionId && is);
    const here = walking.map(({ run, log }) => ({ run_id: run.run_id, after: place === "now" ? log.head - 1 : -1 }));
    if (!sessions.isShared) return here;
    const marks = (await storage.runs.marks(sessionId)) ?? [];
    const elsewhere = marks.filter(
      ({ run_id, status }) => status === "running" && active.get(run_id)?.isExecuting !== true,
    );
    const after = async (runId: string): Promise<number> => (place === "now" ? storage.events.last(runId) : -1);
    return [
      ...here,
      ...(await Promise.all(elsewhere.map(async ({ run_id }) => ({ run_id, after: await after(run_id) })))),
    ];
  }
  const newest = await newestRuns(storage, sessionId, place === "all" ? undefined : place.run_id);
  const begun = newest.filter((run) => run.status !== "pending" || hasEmitted(run)).toReversed();
  if (place === "all") return begun.map(({ run_id }) => ({ run_id, after: -1 }));
  const at = begun.findIndex(({ run_id }) => run_id === place.run_id);
  return begun.slice(Math.max(at, 0)).map(({ run_id }) => ({ run_id, after: run_id === place.run_id ? place.id : -1 }));
}

/**
 * The newest runs of a session down to `until`, where they hold it, each once. A run has its whole input with it: who
 * comes back after the last one must not make the server read a thousand.
 */
async function newestRuns(storage: Storage, sessionId: string, until: string | undefined): Promise<Run[]> {
  const found = new Map<string, Run>();
  for (let offset = 0; offset < runsReplayed; offset += pageSize) {
    const page = await storage.runs.list(sessionId, { limit: pageSize, offset });
    // A new run shifts the pages.
    for (const run of page) if (!found.has(run.run_id)) found.set(run.run_id, run);
    if (page.length < pageSize || (until !== undefined && found.has(until))) break;
    await nextTurn();
  }
  return [...found.values()];
}

async function* eventsOf(
  sources: RunSources,
  run_id: string,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<SessionEvent[]> {
  try {
    for await (const batch of followRun(sources, run_id, after, { signal }))
      yield batch.map((event) => ({ run_id, event }));
  } catch (error) {
    // It was deleted or rolled back before its turn to be read came: the next one is.
    if (!isAppError(error) || error.code !== "not_found") throw error;
  }
}
