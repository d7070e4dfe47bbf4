import { setImmediate as nextTurn } from "node:timers/promises";
import { isAppError } from "../../errors/errors.ts";
import type { RunEvent, SessionNotification } from "../../run-events.ts";
import type { Run } from "../../storage/records.ts";
import type { ActiveRun } from "../active-run.ts";
import type { SessionSubscription } from "./session-subscription.ts";
import { followRun, type RunSources, type SessionPublisher } from "./follow.ts";
import type { RunStart } from "./session-watch.ts";
import { isOver } from "../status.ts";

/** Maximum number of runs that a returning reader gets. */
const runsReplayed = 1000;
/** Runs per query. */
const pageSize = 50;
/** Maximum number of runs that a reader gets who names no position. */
const runsUnasked = 10;
/** An end that is so many milliseconds after a run came is no matter of clocks: the run has waited for it. */
const minWait = 50;

/**
 * An item of a session's record: a batch of events of one of its runs; that a run is over and when, with its row then
 * (`undefined` when it was removed); once, that the past is complete; news from outside of runs; or whether the
 * reader has all that there is, and waits for what comes.
 */
export type RecordItem =
  | { run: Run; events: RunEvent[] }
  | { run: Run; ended: Run | undefined; at: string }
  | { caughtUp: true }
  | { news: SessionNotification }
  | { waits: boolean };

/** A run that has ended without having begun, whole. */
interface StoppedRun {
  items: RecordItem[];
  /** Milliseconds since 1970. */
  at: number;
}

/** What a record is read from. */
interface RecordReader {
  sources: RunSources;
  subscription: SessionSubscription;
  signal: AbortSignal;
  /** Runs that have ended without having begun and are not sent yet, oldest first. */
  stopped: StoppedRun[];
  /** Runs that the subscription will name although they are known. */
  seen: Set<string>;
}

/**
 * The events of a session's runs, one run after the other in the order in which they start. A run that was stopped before it
 * started comes at the time of its end, amid the events of the run that was executed then. Ends only with the session or the
 * server. Starts with all runs that were not over at `since` (milliseconds since 1970), by default with the newest one and
 * those that it waited for: older events are in the session's state. An unknown session has an empty record.
 */
export async function* followRecord(
  sources: RunSources & { sessions: SessionPublisher },
  sessionId: string,
  since: number | undefined,
  signal: AbortSignal,
): AsyncGenerator<RecordItem> {
  // Subscribes before the first query, so that no run is missed.
  const subscription = sources.sessions.open(sessionId, signal);
  const reading: RecordReader = { sources, subscription, signal, stopped: [], seen: new Set() };
  try {
    await subscription.ready;
    const { executed, stopped } = await recentRuns(sources, sessionId, since);
    const newest = executed.at(-1);
    const lastId = newest === undefined ? -1 : await lastEmitted(sources, newest);
    for (const { run_id } of [...executed, ...stopped]) reading.seen.add(run_id);
    for (const run of stopped) await collectStopped(reading, run);
    for (const run of executed) yield* readRun(reading, run, run === newest ? "newest" : "former", lastId);
    if (newest === undefined) {
      yield* stoppedBefore(reading, Infinity);
      yield { caughtUp: true };
    }
    for (;;) {
      if (!subscription.hasMore()) yield { waits: true };
      const { done, value: item } = await subscription.items.next();
      if (done === true) break;
      // Before anything is looked up: all readers of the session say so in the turn in which a run begins.
      yield { waits: false };
      if ("news" in item) {
        yield item;
        continue;
      }
      // A run that began between the two queries is in both.
      if (reading.seen.delete(item.run_id)) continue;
      const run = await findRun(sources, item);
      if (run === undefined) continue;
      if (item.hasBegun) yield* readRun(reading, run, "live");
      else {
        await collectStopped(reading, run);
        yield* stoppedBefore(reading, Infinity);
      }
    }
  } finally {
    subscription.close();
  }
}

async function findRun({ active, storage }: RunSources, { run_id, hasBegun }: RunStart): Promise<Run | undefined> {
  const held = active.get(run_id)?.run;
  // The store may have its attempt before this process does.
  const isBehind = hasBegun && held?.attempt === 0;
  return held === undefined || isBehind ? await storage.runs.get(run_id) : held;
}

/** The id of a run's last event so far, -1 before its first. */
async function lastEmitted({ active, storage }: RunSources, { run_id }: Run): Promise<number> {
  const log = active.get(run_id)?.log;
  return log === undefined ? storage.events.last(run_id) : log.head - 1;
}

/** The runs with which the record begins, oldest first: those that have begun, and those that were stopped before. */
async function recentRuns(
  { active, storage }: RunSources,
  sessionId: string,
  since: number | undefined,
): Promise<{ executed: Run[]; stopped: Run[] }> {
  const executed = new Map<string, Run>();
  const stopped = new Map<string, Run>();
  const kept = () => ({ executed: oldestFirst(executed), stopped: oldestFirst(stopped) });
  for (let offset = 0; offset < runsReplayed; offset += pageSize) {
    const page = await storage.runs.list(sessionId, { limit: pageSize, offset });
    for (const row of page) {
      const found = active.get(row.run_id);
      const kind = kindOf(row, found);
      if (kind === "waits") continue;
      // All of its events are known.
      const isKnown = since !== undefined && isOver(row.status) && Date.parse(row.updated_at) <= since;
      if (kind === "stopped") {
        // A running one may have come before it, so this says nothing about the others.
        if (!isKnown) stopped.set(row.run_id, row);
        continue;
      }
      if (isKnown || (since === undefined && !isUnasked(row, [...executed.values()]))) return kept();
      // A new run shifts the pages. The row of a run that is being admitted may have its attempt before this process does.
      executed.set(row.run_id, found === undefined || found.run.attempt < row.attempt ? row : found.run);
    }
    if (page.length < pageSize) break;
    await nextTurn();
  }
  return kept();
}

/** `waits`: it has no events yet. `stopped`: it ended without having begun, or its end is being written. */
function kindOf({ status, attempt }: Run, found: ActiveRun | undefined): "waits" | "stopped" | "executed" {
  if (status === "pending" && found?.isExecuting !== true) return found?.ended === true ? "stopped" : "waits";
  return isOver(status) && attempt === 0 ? "stopped" : "executed";
}

/**
 * Whether a reader without a position gets a run: the newest one, and those that it waited for. A client that reconnects
 * without a position may still wait for the end of one run while the next is executed.
 */
function isUnasked(run: Run, [newest, ...others]: readonly Run[]): boolean {
  if (newest === undefined) return true;
  const hasWaited = Date.parse(run.updated_at) - Date.parse(newest.created_at) > minWait;
  return hasWaited && others.length + 1 < runsUnasked;
}

function oldestFirst(runs: ReadonlyMap<string, Run>): Run[] {
  return [...runs.values()].toReversed();
}

/** Reads a run that is about to end, or has ended, without having begun. */
async function collectStopped({ sources, signal, stopped }: RecordReader, run: Run): Promise<void> {
  const items: RecordItem[] = [];
  for await (const item of eventsOf(sources, run, signal)) items.push(item);
  const end = items.at(-1);
  // A run that the server leaves for its next start has no end, and is no part of the record.
  if (end === undefined || !("ended" in end)) return;
  stopped.push({ items, at: Date.parse(end.at) });
  stopped.sort((one, other) => one.at - other.at);
}

/** Removes the runs that were stopped before a time from the queue, and yields them. */
function* stoppedBefore({ stopped }: RecordReader, at: number): Generator<RecordItem> {
  while (stopped[0] !== undefined && stopped[0].at <= at) yield* stopped.shift()?.items ?? [];
}

/** The events of one run, and its end. */
async function* eventsOf(sources: RunSources, run: Run, signal: AbortSignal): AsyncGenerator<RecordItem> {
  const active = sources.active.get(run.run_id);
  try {
    for await (const events of followRun(sources, run.run_id, -1, { signal })) yield { run, events };
  } catch (error) {
    // It was deleted or rolled back before its turn to be read came.
    if (!isAppError(error) || error.code !== "not_found") throw error;
  }
  if (signal.aborted) return;
  const ended = await sources.storage.runs.get(run.run_id);
  // A run that the server leaves for its next start goes on then.
  if (ended !== undefined && !isOver(ended.status)) return;
  yield { run, ended, at: (ended ?? active?.run ?? run).updated_at };
}

/**
 * A run from its start to its end, with the runs that were stopped meanwhile. `lastId`: the last event that the newest run
 * had emitted when the reader connected.
 */
async function* readRun(
  reading: RecordReader,
  run: Run,
  place: "former" | "newest" | "live",
  lastId = -1,
): AsyncGenerator<RecordItem> {
  const { sources, signal } = reading;
  // Of a run that was over, its end belongs to what had happened.
  const wasOpen = sources.active.has(run.run_id) || !isOver(run.status);
  let isBehind = place === "newest";
  if (isBehind && wasOpen && lastId === -1) {
    isBehind = false;
    yield { caughtUp: true };
  }
  for await (const item of eventsOf(sources, run, signal)) {
    await collectNewlyStopped(reading);
    if (!("events" in item)) {
      if ("at" in item) yield* stoppedBefore(reading, Date.parse(item.at));
      yield item;
      continue;
    }
    yield* amidStopped(reading, run, item.events);
    if (!wasOpen || !isBehind || (item.events.at(-1)?.id ?? -1) < lastId) continue;
    isBehind = false;
    yield { caughtUp: true };
  }
  if (place !== "former") yield* stoppedBefore(reading, Infinity);
  if (isBehind && !signal.aborted) yield { caughtUp: true };
}

async function collectNewlyStopped(reading: RecordReader): Promise<void> {
  for (const runId of reading.subscription.takeStopped()) {
    if (reading.seen.delete(runId)) continue;
    const run = await findRun(reading.sources, { run_id: runId, hasBegun: false });
    if (run !== undefined) await collectStopped(reading, run);
  }
}

/** A batch of events, with what was stopped between them. */
function* amidStopped(reading: RecordReader, run: Run, events: RunEvent[]): Generator<RecordItem> {
  let from = 0;
  for (const [index, { at = 0 }] of events.entries()) {
    if (reading.stopped[0] === undefined) break;
    if (reading.stopped[0].at > at) continue;
    if (index > from) yield { run, events: events.slice(from, index) };
    from = index;
    yield* stoppedBefore(reading, at);
  }
  if (from < events.length) yield { run, events: from === 0 ? events : events.slice(from) };
}
