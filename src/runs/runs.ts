import { AppError } from "../errors.ts";
import type { RunEvent } from "../events.ts";
import type { Graphs } from "../graph/load.ts";
import type { Logger } from "../logger.ts";
import type { Run, RunStatus, Session } from "../storage/records.ts";
import type { Page, Storage } from "../storage/storage.ts";
import { ActiveRun } from "./active-run.ts";
import { Delays } from "./delays.ts";
import { draftRun, withPausedContext, type RunRequest } from "./draft.ts";
import { findGap, followRun, waitForEnd, type Gap, type RunSources } from "./follow.ts";
import type { CancelOptions, RunsOptions } from "./options.ts";
import { positionOf, waitingBehind } from "./order.ts";
import { performRun, type Performance } from "./perform.ts";
import { SessionQueue } from "./queue.ts";
import { isSuspect, removeLeftovers } from "./recover.ts";
import { removeRun } from "./remove-run.ts";
import { isOver } from "./status.ts";

export type { RunRequest };

/**
 * All runs of this server: admits them, queues them per session, walks them, lets anybody follow them, stops them and
 * takes them up again after a restart. A run is a row; what is in memory only speeds it up.
 */
export class Runs {
  readonly #storage: Storage;
  readonly #graphs: Graphs;
  readonly #logger: Logger;
  readonly #queueLimit: number | undefined;
  readonly #performance: Performance;
  readonly #queue: SessionQueue;
  readonly #active = new Map<string, ActiveRun>();
  readonly #sources: RunSources;
  /** Runs a crash has left `running`, by session. */
  readonly #interrupted = new Map<string, string>();
  readonly #delays = new Delays();
  readonly #stopping = new AbortController();
  #admissions = 0;

  constructor(options: RunsOptions) {
    this.#storage = options.storage;
    this.#graphs = options.graphs;
    this.#logger = options.logger;
    this.#sources = { active: this.#active, storage: options.storage };
    this.#queueLimit = options.queueLimit;
    this.#performance = {
      retryDelay: 1000,
      crashBudget: 3,
      ...options,
      stopping: this.#stopping.signal,
      lastValues: new WeakMap(),
    };
    this.#queue = new SessionQueue(options.maxConcurrent, (sessionId) => this.#work(sessionId));
  }

  /**
   * Admits a run: when this resolves, its row with the input is on disk (reliability R1). A submission that came before
   * gives the run of that time. Throws `conflict` for `reject` on a busy session and for a key that came with another
   * request, `rate_limit` when the queue is full, `not_found` for an unknown assistant, `server` while the server stops.
   */
  async start(session: Session, request: RunRequest): Promise<Run> {
    if (this.#stopping.signal.aborted) {
      throw new AppError("server", "The server is stopping and takes no new runs.", {
        suggestion: "Send the run again when the server is back.",
        recoverable: true,
      });
    }
    const draft = draftRun(session, await withPausedContext(session, request, this.#storage.runs), this.#graphs);
    // In hand before it is admitted: the session's worker may take it up before this function goes on.
    const active = this.#track(draft);
    let run: Run;
    try {
      run = await this.#storage.runs.admit(draft, {
        submission: request.submission,
        answer: request.answer,
        ...(this.#queueLimit !== undefined && { queueLimit: this.#queueLimit }),
      });
    } catch (error) {
      this.#active.delete(draft.run_id);
      throw error;
    }
    // Submitted before: the run of that time is in hand already.
    if (run.run_id !== draft.run_id) this.#active.delete(draft.run_id);
    else await this.#take(active, run);
    return run;
  }

  async #take(active: ActiveRun, run: Run): Promise<void> {
    active.admission = ++this.#admissions;
    try {
      if (run.multitask_strategy === "interrupt" || run.multitask_strategy === "rollback") {
        await this.#cancelEarlier(active, run.multitask_strategy);
      }
    } finally {
      this.#schedule(run);
    }
  }

  #track(run: Run): ActiveRun {
    const active = new ActiveRun(run, this.#storage.events);
    this.#active.set(run.run_id, active);
    return active;
  }

  #schedule(run: Run): void {
    const delay = Date.parse(run.created_at) - Date.now();
    if (delay <= 0) this.#queue.wake(run.session_id);
    else this.#delays.set(run.run_id, delay, () => this.#schedule(run));
  }

  /** Ends what the session was asked before; never what was asked since. */
  async #cancelEarlier({ run, admission }: ActiveRun, action: "interrupt" | "rollback"): Promise<void> {
    const earlier = [...this.#active.values()].filter(
      (other) => other.run.session_id === run.session_id && other.admission < admission,
    );
    for (const other of earlier) await this.#cancel(other, action);
  }

  /** One run of a session, if there is one to do. Failures to read the queue are logged and tried again. */
  async #work(sessionId: string): Promise<boolean> {
    try {
      const left = this.#interrupted.get(sessionId);
      const run = await (left === undefined ? this.#storage.runs.claim(sessionId) : this.#storage.runs.reclaim(left));
      this.#interrupted.delete(sessionId);
      if (run === undefined) return left !== undefined;
      const active = this.#active.get(run.run_id);
      // Cancelled between its claim and here: its row is already finished. Or the server stops: it is for the next start.
      if (active === undefined || active.ended || this.#stopping.signal.aborted) return true;
      active.begin(run);
      await performRun(active, this.#performance);
      this.#forget(active);
    } catch (error) {
      this.#logger.error({ err: error, session_id: sessionId }, "run_queue_failed");
      this.#delays.set(sessionId, this.#performance.retryDelay, () => this.#queue.wake(sessionId));
      return false;
    }
    return true;
  }

  /** Lets go of a run that is over; a temporary session goes when its answer has been read. */
  #forget(active: ActiveRun): void {
    const { run_id, session_id, kwargs, status } = active.run;
    if (!kwargs.temporary || !isOver(status)) {
      this.#active.delete(run_id);
      return;
    }
    const remove = async (): Promise<void> => {
      await active.unread(60_000);
      this.#active.delete(run_id);
      if (this.#stopping.signal.aborted) return;
      await this.#storage.sessions.delete(session_id);
    };
    remove().catch((error: unknown) => this.#logger.error({ err: error, session_id }, "temporary_session_not_removed"));
  }

  /** Batches of events with an id above `after` (-1: all), stored ones first, then live, until the run is over. */
  async *followBatches(runId: string, after: number, signal: AbortSignal): AsyncGenerator<RunEvent[]> {
    yield* followRun(this.#sources, runId, after, signal);
  }

  /** What the log does not hold for a reader that has everything up to `after`; see `Gap`. */
  findGap(run: Run, after: number): Promise<Gap | undefined> {
    return findGap(this.#sources, run, after);
  }

  /** What a run tells from now on, in batches; nothing of a run that is over. Does not count as a reader. */
  async *tail(runId: string, signal: AbortSignal): AsyncGenerator<RunEvent[]> {
    const log = this.#active.get(runId)?.log;
    if (log !== undefined) yield* log.follow(log.head - 1, signal);
  }

  /**
   * Every event with an id above `after` (-1: all), in order, to each of any number of readers. Ends when the run is over
   * and its row says so, when the signal is aborted, or when the server stops. Throws `not_found`.
   */
  async *follow(runId: string, after: number, signal: AbortSignal): AsyncGenerator<RunEvent> {
    for await (const batch of this.followBatches(runId, after, signal)) yield* batch;
  }

  /** The run when it is over. Throws `not_found`, `server` when the server stops first, or the signal's reason. */
  wait(runId: string, signal: AbortSignal): Promise<Run> {
    return waitForEnd(this.#sources, runId, signal);
  }

  /** The last values of a run that `wait` gave (with `__interrupt__` where it paused), while it is fresh; else `undefined`. */
  lastValues(run: Run): Record<string, unknown> | undefined {
    return this.#performance.lastValues.get(run);
  }

  get(runId: string): Promise<Run | undefined> {
    return this.#storage.runs.get(runId);
  }

  list(sessionId: string, query: Page & { status?: RunStatus }): Promise<Run[]> {
    return this.#storage.runs.list(sessionId, query);
  }

  /** How many runs of its session come before one that waits (API-10); `undefined` for one that has begun. */
  position(run: Run): number | undefined {
    return positionOf(this.#active, run);
  }

  /**
   * Stops a run; one that is over stays as it is. `rollback` also removes the run and its checkpoints. With `wait` it
   * resolves when the end is written. `clearQueue` also cancels the runs of its session that wait behind it (QUEUE-05).
   * `undefined` for an unknown run.
   */
  async cancel(runId: string, options: CancelOptions): Promise<Run | undefined> {
    const active = this.#active.get(runId);
    const run = active?.run ?? (await this.#storage.runs.get(runId));
    // Those behind it go first: none of them may begin when it ends.
    const behind = run !== undefined && options.clearQueue === true ? waitingBehind(this.#active, run) : [];
    for (const other of behind) await this.#cancel(other, "interrupt");
    if (active === undefined) return run;
    await this.#cancel(active, options.action);
    return options.wait ? active.over : active.run;
  }

  /** Stops every run of a session, queued ones too, and resolves when their ends are written. */
  async cancelSession(sessionId: string): Promise<void> {
    const runs = [...this.#active.values()].filter(({ run }) => run.session_id === sessionId);
    for (const active of runs) await this.#cancel(active, "interrupt");
    await Promise.all(runs.map((active) => active.over));
  }

  async #cancel(active: ActiveRun, action: "interrupt" | "rollback"): Promise<void> {
    if (action === "rollback") active.rollback = true;
    active.stop.request("cancel");
    if (active.walking || active.ended) return;
    this.#delays.clear(active.run.run_id);
    await performRun(active, this.#performance);
    this.#forget(active);
    this.#queue.wake(active.run.session_id);
  }

  /** Removes a run with its events and checkpoints; one that is not over is stopped first. False for an unknown run. */
  async delete(runId: string): Promise<boolean> {
    const run = await this.cancel(runId, { action: "interrupt", wait: true });
    if (run === undefined) return false;
    return await removeRun(run, { storage: this.#storage, graphs: this.#graphs });
  }

  /** Takes up everything a former process has left: running runs go on from their checkpoint, pending ones queue. */
  async recover(): Promise<{ resumed: number }> {
    await removeLeftovers(this.#storage);
    const unfinished = await this.#storage.runs.unfinished();
    for (const run of unfinished) {
      this.#track(run).admission = ++this.#admissions;
      if (run.status === "running") this.#interrupted.set(run.session_id, run.run_id);
    }
    const suspects = unfinished.filter((run) => isSuspect(run, this.#performance.crashBudget));
    const held = new Set(suspects.map((run) => run.session_id));
    for (const run of unfinished) if (!held.has(run.session_id)) this.#schedule(run);
    void this.#tryAlone(suspects, unfinished);
    return { resumed: this.#interrupted.size };
  }

  /** Takes up one run after the other, each with what waits behind it. Never rejects. */
  async #tryAlone(suspects: readonly Run[], unfinished: readonly Run[]): Promise<void> {
    for (const { run_id, session_id } of suspects) {
      for (const run of unfinished) if (run.session_id === session_id) this.#schedule(run);
      // A run that the server lets go of has no end; the next start takes it up.
      await this.#active.get(run_id)?.over.catch(() => undefined);
    }
  }

  /**
   * Refuses new runs and parks the running ones before their next step; what is still in a step after `graceMs` is
   * aborted. Neither ends a run: its row stays `running` and the next start goes on with it, which counts as no crash
   * (reliability R7).
   */
  async drain(graceMs: number): Promise<void> {
    this.#stopping.abort();
    this.#delays.close();
    const ended = this.#queue.close();
    const reason = new AppError("server", "The server is stopping; the run goes on after its restart.");
    for (const active of this.#active.values()) {
      if (active.walking) active.stop.control.requestDrain();
      else active.abandon(reason);
    }
    // Now, in case the stop is cut short, and again at the end for what was claimed at this moment.
    await this.#park();
    const grace = setTimeout(() => {
      for (const active of this.#active.values()) active.stop.request("drain");
    }, graceMs);
    await ended;
    clearTimeout(grace);
    await this.#park();
  }

  async #park(): Promise<void> {
    try {
      await this.#storage.runs.park();
    } catch (error) {
      // The next start then takes the runs for crashed ones, of which they may have some.
      this.#logger.error({ err: error }, "runs_not_parked");
    }
  }
}
