import type { EventStore } from "../../storage/storage.ts";
import type { Run } from "../../storage/records.ts";
import type { RunLog } from "../events/log.ts";
import { isOver } from "../status.ts";
import type { RunSources } from "./follow.ts";

/**
 * Ids that a reader might expect and that the log does not hold: retention has removed them, or the run never had them.
 * The stream goes on with the events after `after`.
 */
export interface Gap {
  from: number;
  to: number;
  after: number;
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
 * The gap for a reader that has all events up to `after` (-1: none): `undefined` when the log goes on
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
  // Emitted by a server that executes or executed the run, and not stored yet, or never: later events have greater
  // ids.
  if (log === undefined && !isOver(run.status) && after < run.event_mark) return undefined;
  const last = log === undefined ? Math.max(await storage.events.last(run.run_id), expired) : log.head - 1;
  return { from: last + 1, to: after, after: -1 };
}
