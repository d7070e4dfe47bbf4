import { AppError } from "../../errors/errors.ts";
import type { RunEvent, SessionNews } from "../../run-events.ts";
import type { Run } from "../../storage/records.ts";
import type { EventStore, Storage } from "../../storage/storage.ts";
import type { ActiveRun } from "../active-run.ts";
import { readStored, type RunLog } from "../events/log.ts";
import { isOver } from "../status.ts";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";

/** Where readers of a run look: at what this process has in hand, or in the store, where another one writes it. */
export interface RunSources {
  active: ReadonlyMap<string, ActiveRun>;
  storage: Storage;
  /** Aborted when this server lets go of what it has in hand: nobody reads on. */
  drained: AbortSignal;
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
  { active, storage, drained }: RunSources,
  runId: string,
  after: number,
  { signal, toEnd = false }: { signal: AbortSignal; toEnd?: boolean },
): AsyncGenerator<RunEvent[], void> {
  const found = active.get(runId);
  if (found === undefined) {
    yield* storage.events.follow(runId, after, AbortSignal.any([signal, drained]));
    if (toEnd && drained.aborted && !signal.aborted && !(await hasEnded(storage, runId))) throw letGo();
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

async function hasEnded({ runs }: Pick<Storage, "runs">, runId: string): Promise<boolean> {
  const run = await runs.get(runId);
  return run === undefined || isOver(run.status);
}

/** Batches of a run's events so far, with ids above `after`. This does not count as a reader of the run. */
export async function* readSoFar(
  { active, storage }: RunSources,
  runId: string,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<RunEvent[], void> {
  const log = active.get(runId)?.log;
  if (log === undefined) {
    yield* readStored(storage.events, runId, after, signal);
    return;
  }
  const { head } = log;
  if (after + 1 >= head) return;
  for await (const batch of log.follow(after, signal)) {
    yield batch;
    if ((batch.at(-1)?.id ?? head) + 1 >= head) return;
  }
}

/** The run when it is over. Throws `not_found`, `server` when the server stops first, or the signal's reason. */
export async function waitForEnd(sources: RunSources, runId: string, signal: AbortSignal): Promise<Run> {
  const found = sources.active.get(runId);
  if (found === undefined) return await waitElsewhere(sources, runId, signal);
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

/** The run when it is over, of one that this process does not have in hand. */
async function waitElsewhere({ storage, drained }: RunSources, runId: string, signal: AbortSignal): Promise<Run> {
  const run = await storage.runs.get(runId);
  if (run === undefined) throw runNotFound();
  if (isOver(run.status)) return run;
  const stored = storage.events.follow(runId, await storage.events.last(runId), AbortSignal.any([signal, drained]));
  // Its end comes after its events.
  for await (const _ of stored) signal.throwIfAborted();
  signal.throwIfAborted();
  const ended = await storage.runs.get(runId);
  if (ended === undefined) throw runNotFound();
  if (!isOver(ended.status)) throw letGo();
  return ended;
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
  const last = log === undefined ? Math.max(await storage.events.last(run.run_id), expired) : log.head - 1;
  return { from: last + 1, to: after, after: -1 };
}

/** What comes next for a reader: a run that begins, or ends without having begun; or news from outside of runs. */
type Coming = { run_id: string; hasBegun: boolean } | { news: SessionNews };

/** One reader's list of what has come of a session and that it has not taken yet. */
interface Feed {
  waiting: Coming[];
  wake: (() => void) | undefined;
  closed: boolean;
}

/** One reader's subscription. The caller closes it, also when it has read nothing, since its list would grow for ever. */
export interface ComingRuns {
  items: AsyncGenerator<Coming, void, undefined>;
  /** Takes out the runs that have ended without having begun: they need not wait for the current run. */
  takeStopped(): string[];
  close(): void;
}

/** Tells a session's readers which run begins next and what happens outside of runs. Without readers nothing is kept. */
export class SessionFeeds {
  readonly #feeds = new Map<string, Set<Feed>>();

  /** Readers that follow a session now; for tests. */
  get readers(): number {
    return [...this.#feeds.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /**
   * A run of the session begins, or is about to end without having begun; or something has happened that no run tells:
   * a reader hears of it after the run that it is at.
   */
  tell(sessionId: string, item: Coming): void {
    for (const feed of this.#feeds.get(sessionId) ?? []) {
      feed.waiting.push(item);
      feed.wake?.();
    }
  }

  /** The session is going: its readers end. */
  close(sessionId: string): void {
    for (const feed of this.#feeds.get(sessionId) ?? []) {
      feed.closed = true;
      feed.wake?.();
    }
  }

  /** The runs that begin from this call on, each when it begins, and the news, until the signal is aborted or the session goes. */
  open(sessionId: string, signal: AbortSignal): ComingRuns {
    const feed: Feed = { waiting: [], wake: undefined, closed: false };
    const feeds = this.#feeds.get(sessionId) ?? new Set();
    this.#feeds.set(sessionId, feeds.add(feed));
    const close = (): void => {
      feeds.delete(feed);
      if (feeds.size === 0 && this.#feeds.get(sessionId) === feeds) this.#feeds.delete(sessionId);
      signal.removeEventListener("abort", close);
      feed.closed = true;
      feed.wake?.();
    };
    if (signal.aborted) close();
    else signal.addEventListener("abort", close);
    return { items: read(feed), takeStopped: () => takeStopped(feed), close };
  }
}

function takeStopped(feed: Feed): string[] {
  const stopped = feed.waiting.flatMap((item) => ("run_id" in item && !item.hasBegun ? item.run_id : []));
  if (stopped.length > 0) feed.waiting = feed.waiting.filter((item) => "news" in item || item.hasBegun);
  return stopped;
}

async function* read(feed: Feed): AsyncGenerator<Coming, void, undefined> {
  while (!feed.closed) {
    const next = feed.waiting.shift();
    if (next !== undefined) {
      yield next;
      continue;
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    feed.wake = resolve;
    await promise;
  }
}

/** The newest state of a session: its values, and when it was written (ISO-8601). */
interface NewestState {
  values: Record<string, unknown>;
  written_at: string;
}

/**
 * The session's newest checkpoint, or `undefined` before its first. LangGraph's own channels (`__…`, `branch:…`) are
 * left out.
 */
export async function readNewest(
  { checkpointer }: { checkpointer: Pick<BaseCheckpointSaver, "getTuple"> },
  sessionId: string,
): Promise<NewestState | undefined> {
  const tuple = await checkpointer.getTuple({ configurable: { thread_id: sessionId, checkpoint_ns: "" } });
  if (tuple === undefined) return undefined;
  const values = Object.entries(tuple.checkpoint.channel_values);
  const own = values.filter(([name]) => !name.startsWith("__") && !name.startsWith("branch:"));
  return { values: Object.fromEntries(own), written_at: tuple.checkpoint.ts };
}
