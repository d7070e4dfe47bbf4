import { AppError } from "../../errors/errors.ts";
import type { RunEvent } from "../../run-events.ts";
import type { Run } from "../../storage/records.ts";
import type { EventStore, Storage } from "../../storage/storage.ts";
import type { ActiveRun } from "../active-run.ts";
import { readStored, type RunLog } from "../events/log.ts";
import { isOver } from "../status.ts";

/** Where readers of a run look: first at what this process has in hand, then in the store. */
export interface RunSources {
  active: ReadonlyMap<string, ActiveRun>;
  storage: Storage;
}

/**
 * Ids that a reader might expect and that the log does not hold: retention has removed them, or the run never had them.
 * The stream goes on with the events after `after`.
 */
export interface Gap {
  from: number;
  to: number;
  after: number;
}

function runNotFound(): AppError {
  return new AppError("not_found", "Run not found");
}

/** Of the kind `server`: what was followed has not ended, the server has. */
export function letGo(): AppError {
  return new AppError("server", "The server is stopping; the run goes on after its restart.", { recoverable: true });
}

/**
 * Batches of events with an id above `after` (-1: all), stored ones first, then live, until the run is over, the signal
 * is aborted or the server stops. `toEnd`, for readers who take the end of the events for that of the run: throws `server`
 * when the server stops before.
 */
export async function* followRun(
  { active, storage }: RunSources,
  runId: string,
  after: number,
  { signal, toEnd = false }: { signal: AbortSignal; toEnd?: boolean },
): AsyncGenerator<RunEvent[], void> {
  const found = active.get(runId);
  if (found === undefined) {
    const run = await storage.runs.get(runId);
    if (run === undefined) throw runNotFound();
    yield* readStored(storage.events, runId, after, signal);
    if (toEnd && !isOver(run.status) && !signal.aborted) throw letGo();
    return;
  }
  const release = found.hold();
  try {
    yield* found.log.follow(after, signal);
  } finally {
    release();
  }
  if (toEnd && !isOver(found.run.status) && !signal.aborted) throw letGo();
}

/** The run when it is over. Throws `not_found`, `server` when the server stops first, or the signal's reason. */
export async function waitForEnd({ active, storage }: RunSources, runId: string, signal: AbortSignal): Promise<Run> {
  const found = active.get(runId);
  if (found === undefined) {
    const run = await storage.runs.get(runId);
    if (run === undefined) throw runNotFound();
    if (isOver(run.status)) return run;
    throw letGo();
  }
  signal.throwIfAborted();
  const release = found.hold();
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(signal.reason);
  signal.addEventListener("abort", onAbort);
  try {
    return await Promise.race([found.over, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
    release();
  }
}

/** The first stored id that is not below `id`; `undefined` when there is none. */
async function nextStored(events: EventStore, runId: string, id: number): Promise<number | undefined> {
  return (await events.read(runId, id - 1, 1))[0]?.id;
}

/** The next id there is from `id` on (`id` itself when the log holds it), or `undefined` beyond the end. */
async function nextKnown(
  events: EventStore,
  runId: string,
  log: RunLog | undefined,
  id: number,
): Promise<number | undefined> {
  if (log === undefined) return nextStored(events, runId, id);
  if (id >= log.head) return undefined;
  if (id >= log.base) return id;
  return (await nextStored(events, runId, id)) ?? log.base;
}

/**
 * What a reader has to be told that names `after` as the last event it has (-1: none): `undefined` when the log goes on
 * from there. An id that the run never had says nothing about what the reader has: after its gap everything there is
 * comes again (never a silent full replay).
 */
export async function findGap({ active, storage }: RunSources, run: Run, after: number): Promise<Gap | undefined> {
  const expired = run.expired_events;
  if (after < expired) return { from: after + 1, to: expired, after };
  if (after === -1 || after === expired) return undefined;
  const log = active.get(run.run_id)?.log;
  const next = await nextKnown(storage.events, run.run_id, log, after);
  if (next === after) return undefined;
  if (next !== undefined) return next === after + 1 ? undefined : { from: after + 1, to: next - 1, after };
  const last = log === undefined ? Math.max(await storage.events.last(run.run_id), expired) : log.head - 1;
  return { from: last + 1, to: after, after: -1 };
}
