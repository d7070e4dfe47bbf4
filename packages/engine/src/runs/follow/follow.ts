import { AppError } from "../../errors/errors.ts";
import type { RunEvent } from "../../run-events.ts";
import type { Run } from "../../storage/records.ts";
import type { Storage } from "../../storage/storage.ts";
import type { ActiveRun } from "../active-run.ts";
import { readStored } from "../../storage/events/follow-events.ts";
import { isOver } from "../status.ts";
import {
  type SessionUpdate,
  type SessionSubscription,
  createSubscription,
  type SubscriberQueue,
} from "./session-subscription.ts";
import { waitForRemoval } from "./run-marks.ts";
import { SessionWatch, type SessionWatchOptions } from "./session-watch.ts";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";

/** Where a run is read from: the runs of this process, or the store when another process writes it. */
export interface RunSources {
  active: ReadonlyMap<string, ActiveRun>;
  storage: Storage;
  /** Aborted when the server starts to stop: runs that it leaves from then on continue after its restart, or elsewhere. */
  stopping: AbortSignal;
  /** Aborted when it has left all runs: readers end. */
  drained: AbortSignal;
}

const runNotFound = (): AppError => new AppError("not_found", "Run not found");

/** The error (`server`) for a reader whose run has not ended when the server stops. */
export function serverStopping(): AppError {
  return new AppError("server", "The server is stopping; the run goes on after its restart.", { recoverable: true });
}

/**
 * Batches of events with an id above `after` (-1: all), stored ones first, then live, until the run is over, the signal
 * is aborted or the server stops. `toEnd`, for readers who take the end of the events for that of the run: throws `server`
 * when the server stops before.
 */
export async function* followRun(
  sources: RunSources,
  runId: string,
  after: number,
  { signal, toEnd = false }: { signal: AbortSignal; toEnd?: boolean },
): AsyncGenerator<RunEvent[], void> {
  const { active, storage, drained } = sources;
  let cursor = after;
  let former: ActiveRun | undefined;
  for (let found = active.get(runId); found !== undefined && found !== former; found = active.get(runId)) {
    const release = found.addReader();
    try {
      for await (const batch of found.log.follow(cursor, signal)) {
        cursor = batch.at(-1)?.id ?? cursor;
        yield batch;
      }
    } finally {
      release();
    }
    if (isOver(found.run.status) || signal.aborted) return;
    if (isLeft(sources)) {
      if (toEnd) throw serverStopping();
      return;
    }
    former = found;
  }
  yield* storage.events.follow(runId, cursor, AbortSignal.any([signal, drained]));
  if (signal.aborted) return;
  if (!drained.aborted) storage.notifications.send("all", { type: "read", run_id: runId });
  else if (toEnd && !(await hasEnded(storage, runId))) throw serverStopping();
}

/**
 * Whether an unfinished run is left for the next start. Otherwise its attempt was lost, and it continues in the next attempt
 * or at another server.
 */
function isLeft({ stopping, storage }: RunSources): boolean {
  return stopping.aborted || !storage.notifications.isShared;
}

async function hasEnded({ runs }: Pick<Storage, "runs">, runId: string): Promise<boolean> {
  const run = await runs.get(runId);
  return run === undefined || isOver(run.status);
}

/** Batches of a run's events so far, with ids above `after`. This does not count as a reader of the run. */
export async function* readEmitted(
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
  let former: ActiveRun | undefined;
  for (;;) {
    const found = sources.active.get(runId);
    if (found === undefined || found === former) return await waitElsewhere(sources, runId, signal);
    const ended = await endOf(found, sources, signal);
    if (ended !== undefined) return ended;
    former = found;
  }
}

/** The end of a run in hand; `undefined` when its attempt was lost and another one continues it. */
async function endOf(found: ActiveRun, sources: RunSources, signal: AbortSignal): Promise<Run | undefined> {
  signal.throwIfAborted();
  const release = found.addReader();
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(signal.reason);
  signal.addEventListener("abort", onAbort);
  try {
    return await Promise.race([found.over, aborted.promise]);
  } catch (error) {
    if (signal.aborted || isLeft(sources)) throw error;
    return undefined;
  } finally {
    signal.removeEventListener("abort", onAbort);
    release();
  }
}

/** The run when it is over, for a run of another process. */
async function waitElsewhere({ storage, drained }: RunSources, runId: string, signal: AbortSignal): Promise<Run> {
  const run = await storage.runs.get(runId);
  if (run === undefined) throw runNotFound();
  if (isOver(run.status)) return await waitForRemoval(storage, run, signal);
  const stored = storage.events.follow(runId, await storage.events.last(runId), AbortSignal.any([signal, drained]));
  // Its end comes after its events.
  for await (const _ of stored) signal.throwIfAborted();
  signal.throwIfAborted();
  const ended = await storage.runs.get(runId);
  if (ended === undefined) throw runNotFound();
  if (!isOver(ended.status)) throw serverStopping();
  return await waitForRemoval(storage, ended, signal);
}

/** The other servers: how their runs are found, and how their readers are notified. */
export interface PeerPublisher {
  watch: SessionWatchOptions;
  publish(sessionId: string, item: SessionUpdate): void;
}

/** The readers of one session here, and what finds its runs that begin at other servers. */
interface Readers {
  queues: Set<SubscriberQueue>;
  watch: SessionWatch | undefined;
}

/** Publishes the runs of sessions, and changes outside of runs, to their readers. Without readers nothing is kept. */
export class SessionPublisher {
  readonly #sessions = new Map<string, Readers>();
  readonly #peers: PeerPublisher | undefined;

  /** `elsewhere`: where there can be other servers. */
  constructor(elsewhere?: PeerPublisher) {
    this.#peers = elsewhere;
  }

  /** Whether the runs of a session may begin at other servers, too. */
  get isShared(): boolean {
    return this.#peers !== undefined;
  }

  /** Readers that follow a session now; for tests. */
  get readers(): number {
    return [...this.#sessions.values()].reduce((sum, { queues }) => sum + queues.size, 0);
  }

  /**
   * Publishes an item to the readers of a session, here and at other servers. A reader gets it after the run that it is
   * reading.
   */
  publish(sessionId: string, item: SessionUpdate): void {
    this.#peers?.publish(sessionId, item);
    if (this.#sessions.has(sessionId)) this.receive(sessionId, item);
  }

  /** Publishes an item to local readers, whichever server it comes from; they get each run once. */
  receive(sessionId: string, item: SessionUpdate): void {
    const watch = "run_id" in item ? this.#sessions.get(sessionId)?.watch : undefined;
    if (watch !== undefined && "run_id" in item) watch.publish(item);
    else this.#push(sessionId, item);
  }

  #push(sessionId: string, item: SessionUpdate): void {
    for (const queue of this.#sessions.get(sessionId)?.queues ?? []) {
      queue.waiting.push(item);
      queue.wake?.();
    }
  }

  /** The session is being removed: its readers end. */
  close(sessionId: string): void {
    for (const queue of this.#sessions.get(sessionId)?.queues ?? []) {
      queue.closed = true;
      queue.wake?.();
    }
  }

  #watched(sessionId: string): SessionWatch | undefined {
    const { watch } = this.#peers ?? {};
    if (watch === undefined) return undefined;
    return new SessionWatch(
      sessionId,
      watch,
      (run) => this.#push(sessionId, run),
      () => this.close(sessionId),
    );
  }

  /** Subscribes to the runs that start from now on and to other changes, until the signal is aborted or the session is removed. */
  open(sessionId: string, signal: AbortSignal): SessionSubscription {
    const queue: SubscriberQueue = { waiting: [], wake: undefined, closed: false };
    const found = this.#sessions.get(sessionId) ?? { queues: new Set(), watch: this.#watched(sessionId) };
    this.#sessions.set(sessionId, found);
    found.queues.add(queue);
    const close = (): void => {
      found.queues.delete(queue);
      if (found.queues.size === 0) {
        found.watch?.close();
        if (this.#sessions.get(sessionId) === found) this.#sessions.delete(sessionId);
      }
      signal.removeEventListener("abort", close);
      queue.closed = true;
      queue.wake?.();
    };
    if (signal.aborted) close();
    else signal.addEventListener("abort", close);
    const ready = found.watch?.ready ?? Promise.resolve();
    return createSubscription(queue, ready, close);
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
