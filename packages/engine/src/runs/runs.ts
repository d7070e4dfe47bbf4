import { AsyncLocalStorage } from "node:async_hooks";
import { isAppError } from "../errors/errors.ts";
import type { RunEvent, SessionNotification } from "../run-events.ts";
import type { Graphs } from "../graphs/load.ts";
import type { Logger } from "../logger.ts";
import type { Run, RunStatus, Session, Page } from "../storage/records.ts";
import type { Admission, Storage, Submission } from "../storage/storage.ts";
import type { ActiveRun, Stop, StopState } from "./active-run.ts";
import { cancelBackground, cancelEarlier, cancelQueued, cancelRun, cancelSession, removeRunsOf } from "./cancel.ts";
import { Dispatch } from "./dispatch.ts";
import { prepareRun, type RunRequest, serverStoppingError } from "./admission/draft.ts";
import { type CancelOptions, runDefaults, type RunnerDeps, type RunsOptions, type RunStarter } from "./options.ts";
import { followRun, waitForEnd, type RunSources } from "./follow/follow.ts";
import { findRunning } from "./follow/live-runs.ts";
import { findGap, type Gap } from "./follow/gaps.ts";
import { followRecord, type RecordItem } from "./follow/follow-record.ts";
import { followSession, type SessionEvent, type SessionPosition } from "./follow/follow-session.ts";
import { localQueuePosition, queuePosition, sessionStopState } from "./follow/run-marks.ts";
import { drainRuns, waitReason, type WaitReason } from "./recover.ts";
import { recoverAndFollow } from "./other-servers.ts";
import { zeroCounts, runStats, type RunStats } from "./run-stats.ts";
import { removeRun } from "./remove-run.ts";
import { stopRemoteRuns, waitForStop } from "./remote-stops.ts";
import { Traces } from "./trace/traces.ts";
import { KeyedMutex } from "../concurrency/by-key.ts";
import { unstoredUser } from "./admission/run-config.ts";

/**
 * All runs of this server: admits them, queues them per session, executes them, lets readers follow them, stops them and
 * takes them up again after a restart. A run is a row; what is in memory only speeds it up.
 */
export class Runs {
  /** What the parts of runs took how long. */
  readonly traces: Traces;
  readonly #storage: Storage;
  readonly #graphs: Graphs;
  readonly #logger: Logger;
  readonly #room: Pick<Admission, "queueLimit" | "ownerQueueLimit">;
  readonly #deps: RunnerDeps;
  readonly #dispatch: Dispatch;
  readonly #sources: RunSources & { sessions: Dispatch["publishers"]["sessions"] };
  readonly #stopping = new AbortController();
  /** All active runs have ended or are left for the next start: there are no more events. */
  readonly #drained = new AbortController();
  /** Admissions of a session, and what is done to it between runs, go one after the other. */
  readonly #bySession: KeyedMutex;

  constructor(options: RunsOptions) {
    const { storage, graphs, logger, queueLimit, ownerQueueLimit, maxConcurrent } = options;
    // LangGraph would take a run that is started within a step of a graph for a part of that step.
    const outside = AsyncLocalStorage.snapshot();
    this.#storage = storage;
    this.#bySession = new KeyedMutex(options.turnPatience);
    this.#graphs = graphs;
    this.#logger = logger;
    this.#room = { queueLimit, ownerQueueLimit };
    this.#deps = {
      ...runDefaults,
      ...options,
      stopping: this.#stopping.signal,
      lastValues: new WeakMap(),
      counts: zeroCounts(),
    };
    const starter: RunStarter = {
      // Also while the server stops: what is admitted then is for the next start, as the caller is.
      start: (session, request) => outside(() => this.#start(session, request)),
      stop: (runId, wait) => outside(() => this.cancel(runId, { action: "interrupt", wait })),
      companionOf: (sessionId) => findRunning(sessionId, this.#dispatch.active)?.companion,
    };
    this.#dispatch = new Dispatch({ deps: this.#deps, starter, maxConcurrent });
    const { active, publishers } = this.#dispatch;
    this.#sources = { active, ...publishers, storage, stopping: this.#stopping.signal, drained: this.#drained.signal };
    this.traces = new Traces(this.#sources);
  }

  /**
   * Admits a run: its row is on disk then. A submission that came before gives the run of that time. Throws `conflict` for
   * `reject` on a busy session and for a key of another request, `rate_limit` for a full queue, `server` after `drain`.
   */
  async start(session: Session, request: RunRequest): Promise<Run> {
    if (this.#stopping.signal.aborted) throw serverStoppingError();
    return await this.#start(session, request);
  }

  async #start(session: Session, request: RunRequest): Promise<Run> {
    const draft = await prepareRun(session, request, { storage: this.#storage, graphs: this.#graphs });
    const { active, run } = await this.#bySession.run(session.session_id, () => this.#admit(draft, request));
    if (active === undefined) return run;
    const { multitask_strategy: strategy } = run;
    try {
      if (strategy === "interrupt" || strategy === "rollback") await cancelEarlier(active, strategy, this.#dispatch);
    } finally {
      this.#dispatch.schedule(run);
    }
    return run;
  }

  /**
   * Runs `work`, which is short, while no run of the session is admitted and no other such work goes on: what it finds
   * the session to be, idle above all, holds until it has ended. It must not start a run of the session. Throws
   * `conflict` when its turn does not come in time.
   */
  between<Result>(sessionId: string, work: () => Promise<Result>): Promise<Result> {
    const { withLease } = this.#storage.sessions;
    const wake = (): void => this.#dispatch.wakeBlocked([sessionId]);
    return this.#bySession.run(sessionId, withLease ? () => withLease(sessionId, work).finally(wake) : work);
  }

  /** Admits a run and makes it active. One that begins at once, or was submitted before, needs nothing more: only its row. */
  async #admit(draft: Run, request: RunRequest): Promise<{ active?: ActiveRun; run: Run }> {
    // In hand before it is admitted: the session's worker may take it up before this function goes on.
    const active = this.#dispatch.track(draft);
    active.user = unstoredUser(request.config);
    active.hasKey = request.submission !== undefined;
    const hasRoom = this.#dispatch.reserve(draft);
    let claimed: Run | undefined;
    try {
      const { submission, answer, cron } = request;
      const admitted = await this.#storage.runs.admit(draft, { submission, answer, cron, hasRoom, ...this.#room });
      const { run } = admitted;
      if (run.run_id === draft.run_id) this.#dispatch.admit(active);
      else this.#dispatch.active.delete(draft.run_id);
      claimed = admitted.claimed;
      return claimed === undefined && run.run_id === draft.run_id ? { active, run } : { run };
    } catch (error) {
      this.#dispatch.active.delete(draft.run_id);
      if (isAppError(error) && error.code === "storage_unavailable") this.#dispatch.isUnsure = true;
      throw error;
    } finally {
      if (hasRoom) this.#dispatch.perform(draft.session_id, claimed);
    }
  }

  /** Batches of events with an id above `after` (-1: all), to the end of the run. Throws `server` when the server stops first. */
  followBatches({ run_id }: Run, after: number, signal: AbortSignal): AsyncGenerator<RunEvent[]> {
    return followRun(this.#sources, run_id, after, { signal, toEnd: true });
  }

  /** What the log does not hold for a reader that has everything up to `after`; see `Gap`. */
  findGap(run: Run, after: number): Promise<Gap | undefined> {
    return findGap(this.#sources, run, after);
  }

  /** The events that a run emits from now on, in batches. Does not count as a reader. */
  async *tail({ run_id }: Run, signal: AbortSignal): AsyncGenerator<RunEvent[]> {
    const log = this.#dispatch.active.get(run_id)?.log;
    if (log !== undefined) yield* log.follow(log.head - 1, signal);
  }

  /** Every event above `after`, as `followBatches`; it ends also when the server stops. Throws `not_found`. */
  async *follow(runId: string, after: number, signal: AbortSignal): AsyncGenerator<RunEvent> {
    for await (const batch of followRun(this.#sources, runId, after, { signal })) yield* batch;
  }

  /** The events of a session's current and later runs, until the signal is aborted or the session is removed; see there. */
  followSession(sessionId: string, place: SessionPosition, signal: AbortSignal): AsyncGenerator<SessionEvent[]> {
    return followSession(this.#sources, sessionId, place, signal);
  }

  /** The session's newest runs, or all since a time, and those that come; see there. Ends also when the server stops. */
  followRecord(sessionId: string, since: number | undefined, signal: AbortSignal): AsyncGenerator<RecordItem> {
    return followRecord(this.#sources, sessionId, since, AbortSignal.any([signal, this.#drained.signal]));
  }

  /** Publishes a change of a session outside of its runs to its readers. */
  notifySession(sessionId: string, news: SessionNotification): void {
    this.#dispatch.publishers.sessions.publish(sessionId, { news });
  }

  /** The run when it is over. Throws `not_found`, `server` when the server stops first, or the signal's reason. */
  wait(runId: string, signal: AbortSignal): Promise<Run> {
    return waitForEnd(this.#sources, runId, signal);
  }

  /** The last values of a run that `wait` gave (with `__interrupt__` where it paused), while it is fresh; else `undefined`. */
  lastValues(run: Run): Record<string, unknown> | undefined {
    return this.#deps.lastValues.get(run);
  }

  /** The run that a request under this key has begun in a session. Throws `conflict` where that was another request. */
  submitted(sessionId: string, submission: Submission): Promise<Run | undefined> {
    return this.#storage.runs.submitted(sessionId, submission);
  }

  get(runId: string): Promise<Run | undefined> {
    return this.#storage.runs.get(runId);
  }

  list(sessionId: string, query: Page & { status?: RunStatus }): Promise<Run[]> {
    return this.#storage.runs.list(sessionId, query);
  }

  unfinished(): Promise<Run[]> {
    return this.#storage.runs.unfinished();
  }

  /** Whether no run is executed. */
  isIdle(): boolean {
    return !this.#dispatch.active.values().some(({ isExecuting }) => isExecuting);
  }

  /** How many there are of each kind, and what was counted since the start. */
  numbers(): RunStats {
    return runStats(this.#dispatch.active.values(), this.#deps.counts);
  }

  /** How many runs of its session come before a waiting one; `undefined` for a run that has begun. */
  async placeOf(run: Run): Promise<number | undefined> {
    if (this.#storage.notifications.hasPeers) return await queuePosition(this.#storage, run);
    const own = this.#dispatch.active.get(run.run_id);
    if (own === undefined || own.isExecuting || own.ended) return undefined;
    return localQueuePosition(own, this.#dispatch.ofSession(run.session_id));
  }

  /** Why a run does not begin or go on, where its graph or its folder is missing; see there. */
  waitReason(run: Run): Promise<WaitReason | undefined> {
    return waitReason(run, this.#deps, this.#dispatch.active.has(run.run_id));
  }

  stopStateOf(sessionId: string): Promise<StopState | undefined> {
    return sessionStopState(this.#storage, sessionId, this.#dispatch.ofSession(sessionId));
  }

  /** The stop of a session's current run: the running one, else the first that waits. */
  stopOf(sessionId: string): Stop | undefined {
    const runs = this.#dispatch.ofSession(sessionId);
    return (runs.find((active) => active.isExecuting) ?? runs[0])?.stop;
  }

  /** What the run is at that works on a session now, here or elsewhere; see `RunCompanion.live`. */
  liveOf(sessionId: string): Promise<unknown> {
    return this.#dispatch.publishers.live.of(sessionId);
  }

  /**
   * Stops a run that is not over; `rollback` also removes it and its checkpoints, `clearQueue` stops those that wait behind it.
   * Resolves when that is on disk; with `wait` when the ends are written. `undefined` for an unknown run.
   */
  async cancel(runId: string, options: CancelOptions): Promise<Run | undefined> {
    const { action, reason = "user_requested", said, wait, clearQueue, onlyPending } = options;
    const active = this.#dispatch.active.get(runId);
    const run = active?.run ?? (await this.#storage.runs.get(runId));
    if (run === undefined) return undefined;
    const cleared = clearQueue ? await cancelQueued(run, this.#sources, this.#cancelling) : undefined;
    const asked = Promise.all([
      cleared?.ended,
      cancelRun(run, { action, reason, said, onlyPending }, this.#cancelling),
      active?.hasBegun && !onlyPending ? cancelBackground(run.session_id, this.#cancelling) : undefined,
    ]);
    if (active === undefined || !wait || onlyPending) {
      await asked;
      if (active !== undefined) return active.run;
      const isElsewhere = run.status === "pending" && this.#storage.cluster.serverCount > 1;
      return wait || isElsewhere ? await waitForStop(run, this.#sources, wait ? "to its end" : "briefly") : run;
    }
    // With the ends on disk nothing depends on the notes.
    asked.catch((error: unknown) => this.#logger.error({ err: error, run_id: runId }, "stop_not_noted"));
    return await Promise.all([active.over, cleared?.ended.catch(() => undefined)]).then(([ended]) => ended);
  }

  get #cancelling(): Parameters<typeof cancelRun>[2] {
    return { dispatch: this.#dispatch, storage: this.#storage, logger: this.#logger };
  }

  /** Stops all runs, agents and commands of a session that is to go; resolves when the ends of its runs are written. */
  async cancelSession(sessionId: string): Promise<void> {
    await Promise.all([
      cancelSession(sessionId, "session_switch", this.#cancelling),
      stopRemoteRuns(sessionId, this.#sources),
      cancelBackground(sessionId, this.#cancelling),
      this.#deps.extension?.forget(sessionId),
    ]);
    this.#dispatch.publishers.sessions.close(sessionId);
  }

  /** Removes a run with its events and checkpoints, after stopping it where it is not over. False for an unknown run. */
  async delete(runId: string): Promise<boolean> {
    // One that works is removed before its end is written, since the next run may begin at another server right after that.
    const run = await this.cancel(runId, { action: "rollback", wait: true });
    if (run !== undefined) await this.between(run.session_id, () => removeRun(run, this.#deps));
    return run !== undefined;
  }

  /** Stops the runs of an assistant that is gone, and removes all of its runs; what they wrote into sessions stays. */
  removeOfAssistant(assistantId: string): Promise<void> {
    return removeRunsOf(assistantId, this.#sources, this.#cancelling);
  }

  /** Takes up everything a former process has left, and from then on what other servers leave; see `recoverRuns`. */
  recover(): Promise<{ resumed: number }> {
    return recoverAndFollow(this.#dispatch, this.#deps);
  }

  /** Refuses new runs and lets go of those in hand; see `drainRuns`. */
  async drain(graceMs: number): Promise<void> {
    this.#stopping.abort();
    await drainRuns(this.#dispatch, graceMs, this.#deps);
    this.#drained.abort();
  }
}
