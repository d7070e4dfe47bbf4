import { clusterTime } from "../concurrency/cluster-time.ts";
import { SessionQueue } from "../concurrency/by-key.ts";
import { AppError } from "../errors/errors.ts";
import type { Run } from "../storage/records.ts";
import { ActiveRun, isDue, waitsForGraph } from "./active-run.ts";
import type { RunnerDeps, RunStarter } from "./options.ts";
import { Delays } from "./events/alarm.ts";
import { endBroken } from "./attempt/end-broken.ts";
import { runAttempt } from "./attempt/run-attempt.ts";
import { createPublishers, type RunPublishers } from "./follow/remote-subscribers.ts";
import { isOver } from "./status.ts";
import { removeAfter, untilUnneeded } from "./temporary-sessions.ts";

/** What a dispatch needs from its server. */
interface DispatchOptions {
  deps: RunnerDeps;
  /** What the companions of runs start and stop others by. */
  starter: RunStarter;
  /** The most runs executed at the same time, over all sessions. */
  maxConcurrent: number;
}

/** What readers get whose run another server goes on with. */
export function goesOnElsewhere(): AppError {
  return new AppError("server", "Another server goes on with the run.", { recoverable: true });
}

/** The runs of this server: each waits until it is due and first in its session, is executed, and is dropped when it is over. */
export class Dispatch {
  readonly active = new Map<string, ActiveRun>();
  readonly publishers: RunPublishers;
  readonly #options: DispatchOptions;
  readonly #queue: SessionQueue;
  readonly #delays = new Delays();
  /** Runs a former process has left `running`, by session. */
  readonly #left = new Map<string, string>();
  /** Runs that were claimed with their admission, by session. */
  readonly #taken = new Map<string, Run>();
  /** Sessions with runs of graphs that this process does not serve. */
  readonly #held = new Set<string>();
  /** Resolves when the runs on their last try that were taken up so far are over; see `adoptRuns`. */
  suspects: Promise<void> = Promise.resolve();
  /** Sessions of which another server performs a run, and that have others in hand here. */
  readonly #blocked = new Set<string>();
  /** An admission has failed that may have been carried out: this server may own a run without knowing. */
  isUnsure = false;
  #admissions = 0;

  constructor(options: DispatchOptions) {
    this.#options = options;
    this.publishers = createPublishers(options.deps.storage, this.active);
    this.#queue = new SessionQueue(options.maxConcurrent, (sessionId) => this.#work(sessionId));
  }

  /** How many sessions more this server could work on. */
  get room(): number {
    return this.#queue.room;
  }

  /** Calls back whenever there is room for a session more. There is one listener. */
  set onRoom(listener: () => void) {
    this.#queue.onRoom = listener;
  }

  /** Wakes sessions that waited for a run of another server or for a manual change. */
  wakeBlocked(sessions: Iterable<string> = this.#blocked): void {
    for (const sessionId of sessions) {
      const activeRuns = this.ofSession(sessionId);
      this.#blocked.delete(sessionId);
      // Also while a claim for the session is in flight.
      if (activeRuns.length > 0 && !activeRuns.some(({ isExecuting }) => isExecuting)) this.#queue.wake(sessionId);
    }
  }

  /** Another server owns a run that has not started here. */
  abandon(active: ActiveRun, reason: AppError): void {
    this.#delays.clear(active.run.run_id);
    this.active.delete(active.run.run_id);
    active.abandon(reason);
  }

  /** Takes a run in hand. It is not begun before `schedule`. */
  track(run: Run): ActiveRun {
    const { deps, starter } = this.#options;
    const active = new ActiveRun(run, deps.storage, this.publishers.remote);
    active.companion = deps.extension?.createCompanion(active, starter);
    this.active.set(run.run_id, active);
    return active;
  }

  /** The run is admitted: it comes after all that were before. */
  admit(active: ActiveRun): void {
    active.admission = ++this.#admissions;
  }

  /** Keeps a place for a run that is about to be admitted, if it could begin at once; `perform` has to follow. */
  reserve({ session_id, created_at, updated_at }: Run): boolean {
    return created_at === updated_at && !this.#held.has(session_id) && this.#queue.reserve(session_id);
  }

  /** The place that was kept for the session is for the run that was claimed with its admission, if it was. */
  perform(sessionId: string, taken: Run | undefined): void {
    if (taken !== undefined) this.#taken.set(sessionId, taken);
    if (taken === undefined) this.#queue.leave(sessionId);
    else void this.#queue.workThrough(sessionId);
  }

  /** The runs in hand of one session. */
  ofSession(sessionId: string): ActiveRun[] {
    return [...this.active.values()].filter(({ run }) => run.session_id === sessionId);
  }

  /** Holds back a session whose next run waits for a server that serves its graph. */
  holdSession(sessionId: string): void {
    this.#held.add(sessionId);
  }

  /** Begins the run when its time has come and its session and the server have room. */
  schedule(run: Run): void {
    const { status, created_at, updated_at } = run;
    if (status === "running") this.#left.set(run.session_id, run.run_id);
    // Only a delayed one waits for its time, wherever the machine's clock has been set to.
    const isDelayed = status === "pending" && created_at !== updated_at;
    const delay = isDelayed ? Date.parse(created_at) - clusterTime() : 0;
    if (delay <= 0) this.#queue.wake(run.session_id);
    else this.#delays.set(run.run_id, delay, () => this.schedule(run));
  }

  /** One run of a session, if there is one to do; says whether there may be another. Failures to read the queue are logged and tried again. */
  async #work(sessionId: string): Promise<boolean> {
    const { deps } = this.#options;
    const { storage, logger } = deps;
    try {
      if (this.#held.has(sessionId) && waitsForGraph(this.ofSession(sessionId), deps.graphs.ids())) return false;
      const [taken, left] = [this.#taken.get(sessionId), this.#left.get(sessionId)];
      this.#taken.delete(sessionId);
      const run = taken ?? (await (left === undefined ? storage.runs.claim(sessionId) : storage.runs.reclaim(left)));
      // Meanwhile another one may have been taken up.
      if (this.#left.get(sessionId) === left) this.#left.delete(sessionId);
      if (run === undefined) {
        if (left !== undefined) this.#abandonLost(left);
        if (storage.notifications.isShared && this.ofSession(sessionId).some(isDue)) this.#blocked.add(sessionId);
        return left !== undefined;
      }
      const tracked = this.active.get(run.run_id);
      const active = tracked ?? (await this.#trackById(run.run_id, "claimed"));
      // Cancelled between its claim and here: its row is already finished. Or the server stops: it is for the next start.
      if (active === undefined || active.ended) return true;
      if (deps.stopping.aborted) {
        const store = storage.attempt(run);
        await store.park();
        await store.release();
        return true;
      }
      active.begin(run);
      this.publishers.sessions.publish(sessionId, { run_id: run.run_id, hasBegun: true });
      // What is thrown there ends the run as well.
      await runAttempt(active, deps).catch((error: unknown) => endBroken(active, error, deps));
      if (active.store.isLost === true) await this.#restartRun(run.run_id);
      else this.#forget(active);
      // There may be others of it that were admitted elsewhere.
      if (tracked === undefined) return true;
      for (const other of this.active.values()) if (other.run.session_id === sessionId && !other.ended) return true;
      return false;
    } catch (error) {
      logger.error({ err: error, session_id: sessionId }, "run_queue_failed");
      this.#delays.set(sessionId, deps.retryDelay, () => this.#queue.wake(sessionId));
      return false;
    }
  }

  /** Lets go of a run that was to be taken up again, and that this server has not got: its readers follow it elsewhere. */
  #abandonLost(runId: string): void {
    const active = this.active.get(runId);
    if (active !== undefined && !active.isExecuting && !active.ended) this.abandon(active, goesOnElsewhere());
  }

  /** Takes a run in hand by its row; as it was before its claim where it was `claimed` here and admitted elsewhere. */
  async #trackById(runId: string, how: "claimed" | "left"): Promise<ActiveRun | undefined> {
    const run = await this.#options.deps.storage.runs.get(runId);
    if (run === undefined || isOver(run.status)) return undefined;
    const active = this.active.get(runId) ?? this.track(how === "left" ? run : { ...run, attempt: run.attempt - 1 });
    this.admit(active);
    return active;
  }

  /** Writes the end of a run that was stopped before it began; a run that has begun writes its own end. */
  async endWaiting(active: ActiveRun): Promise<void> {
    if (active.isExecuting || active.ended) return;
    this.#delays.clear(active.run.run_id);
    this.publishers.sessions.publish(active.run.session_id, { run_id: active.run.run_id, hasBegun: false });
    const { deps } = this.#options;
    await runAttempt(active, deps).catch((error: unknown) => endBroken(active, error, deps));
    this.#forget(active);
    this.#queue.wake(active.run.session_id);
  }

  /** Takes up a run again whose newest writes the database has lost, which is no crash of this process. */
  async #restartRun(runId: string): Promise<void> {
    const { deps } = this.#options;
    const { logger } = deps;
    this.active.delete(runId);
    try {
      const active = await this.#trackById(runId, "left");
      if (active === undefined || deps.stopping.aborted) return;
      // By no attempt: none of this server writes to the session before the run is claimed.
      await active.store.park();
      active.rollback = active.run.stop_requested === "rollback";
      if (active.run.stop_requested !== null) active.stop.request("user_requested");
      this.schedule(active.run);
    } catch (error) {
      logger.error({ err: error, run_id: runId }, "run_not_taken_up");
      this.#delays.set(runId, deps.retryDelay, () => void this.#restartRun(runId));
    }
  }

  /**
   * Lets go of a run that is over; a temporary session goes when its answer has been read, or some time later where a
   * key lets a client that lost the answer ask again.
   */
  #forget(active: ActiveRun): void {
    const { run_id, session_id, kwargs, status } = active.run;
    const isTemporary = kwargs.temporary && isOver(status);
    if (!isTemporary && this.active.get(run_id) === active) this.active.delete(run_id);
    if (!isTemporary) return;
    const { deps } = this.#options;
    const release = (): void => void this.active.delete(run_id);
    removeAfter(untilUnneeded(active, release, this.publishers.remote, deps), session_id, this, deps);
  }

  /** Begins nothing more; resolves when what is performed now has ended. */
  close(): Promise<void> {
    this.#delays.close();
    return this.#queue.close();
  }
}
