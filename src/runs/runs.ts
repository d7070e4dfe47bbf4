import type { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import { AppError } from "../errors.ts";
import type { RunEvent } from "../events.ts";
import type { Graphs } from "../graph/load.ts";
import type { Logger } from "../logger.ts";
import type { RunServices } from "../loop/services.ts";
import type { Run, RunStatus, Session } from "../storage/records.ts";
import type { Page, Storage } from "../storage/storage.ts";
import { ActiveRun } from "./active-run.ts";
import { Delays } from "./delays.ts";
import { draftRun, type RunRequest } from "./draft.ts";
import { readStored } from "./log.ts";
import { performRun, type Performance } from "./perform.ts";
import { SessionQueue } from "./queue.ts";
import { removeProgress } from "./recover.ts";
import { isOver } from "./status.ts";

export type { RunRequest };

/** What the runs of a server need. */
export interface RunsOptions {
  storage: Storage;
  graphs: Graphs;
  /** What a run of this session is lent. */
  services: (sessionId: string) => RunServices;
  logger: Logger;
  /** Receives the spans of every run (TRACE-01); absent where nobody traces. */
  tracer?: BaseCallbackHandler | undefined;
  /** Runs that walk at the same time, over all sessions. */
  maxConcurrent: number;
  /** Milliseconds between two tries of what the store refuses. Default one second. */
  retryDelay?: number;
}

/**
 * All runs of this server: admits them, queues them per session, walks them, lets anybody follow them, stops them and
 * takes them up again after a restart. A run is a row; what is in memory only speeds it up.
 */
export class Runs {
  readonly #storage: Storage;
  readonly #graphs: Graphs;
  readonly #logger: Logger;
  readonly #performance: Performance;
  readonly #queue: SessionQueue;
  readonly #active = new Map<string, ActiveRun>();
  /** Runs a crash has left `running`, by session. */
  readonly #interrupted = new Map<string, string>();
  readonly #delays = new Delays();
  readonly #stopping = new AbortController();

  constructor(options: RunsOptions) {
    this.#storage = options.storage;
    this.#graphs = options.graphs;
    this.#logger = options.logger;
    this.#performance = { retryDelay: 1000, ...options, stopping: this.#stopping.signal, lastValues: new WeakMap() };
    this.#queue = new SessionQueue(options.maxConcurrent, (sessionId) => this.#work(sessionId));
  }

  /**
   * Admits a run: when this resolves, its row with the input is on disk (reliability R1). Throws `conflict` for `reject`
   * on a busy session, `not_found` for an unknown assistant, `server` while the server stops.
   */
  async start(session: Session, request: RunRequest): Promise<Run> {
    if (this.#stopping.signal.aborted) {
      throw new AppError("server", "The server is stopping and takes no new runs.", {
        suggestion: "Send the run again when the server is back.",
        recoverable: true,
      });
    }
    const draft = draftRun(session, request, this.#graphs);
    // In hand before it is admitted: the session's worker may take it up before this function goes on.
    const active = this.#track(draft);
    let run: Run;
    try {
      run = await this.#storage.runs.admit(draft);
    } catch (error) {
      this.#active.delete(draft.run_id);
      throw error;
    }
    const { graph_id, assistant_id } = run;
    if (session.metadata["graph_id"] !== graph_id || session.metadata["assistant_id"] !== assistant_id) {
      await this.#storage.sessions.update(session.session_id, { metadata: { graph_id, assistant_id } });
    }
    if (run.multitask_strategy === "interrupt" || run.multitask_strategy === "rollback") {
      await this.#cancelOthers(active, run.multitask_strategy);
    }
    this.#schedule(run);
    return run;
  }

  #track(run: Run): ActiveRun {
    const active = new ActiveRun(run, this.#storage.events);
    this.#active.set(run.run_id, active);
    return active;
  }

  #schedule(run: Run): void {
    const delay = Date.parse(run.created_at) - Date.now();
    if (delay <= 0) this.#queue.wake(run.session_id);
    else this.#delays.set(run.run_id, delay, () => this.#queue.wake(run.session_id));
  }

  async #cancelOthers(newest: ActiveRun, action: "interrupt" | "rollback"): Promise<void> {
    for (const other of this.#active.values()) {
      if (other === newest || other.run.session_id !== newest.run.session_id) continue;
      await this.#cancel(other, action);
    }
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
      active.run = run;
      active.walking = true;
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
    const active = this.#active.get(runId);
    if (active === undefined) {
      if ((await this.#storage.runs.get(runId)) === undefined) throw runNotFound();
      yield* readStored(this.#storage.events, runId, after, signal);
      return;
    }
    const release = active.hold();
    try {
      yield* active.log.follow(after, signal);
    } finally {
      release();
    }
  }

  /**
   * Every event with an id above `after` (-1: all), in order, to each of any number of readers. Ends when the run is over
   * and its row says so, when the signal is aborted, or when the server stops. Throws `not_found`.
   */
  async *follow(runId: string, after: number, signal: AbortSignal): AsyncGenerator<RunEvent> {
    for await (const batch of this.followBatches(runId, after, signal)) yield* batch;
  }

  /** The run when it is over. Throws `not_found`, `server` when the server stops first, or the signal's reason. */
  async wait(runId: string, signal: AbortSignal): Promise<Run> {
    const active = this.#active.get(runId);
    if (active === undefined) {
      const run = await this.#storage.runs.get(runId);
      if (run === undefined) throw runNotFound();
      if (isOver(run.status)) return run;
      throw new AppError("server", "The server is stopping; the run goes on after its restart.", { recoverable: true });
    }
    signal.throwIfAborted();
    const release = active.hold();
    const aborted = Promise.withResolvers<never>();
    const onAbort = (): void => aborted.reject(signal.reason);
    signal.addEventListener("abort", onAbort);
    try {
      return await Promise.race([active.over, aborted.promise]);
    } finally {
      signal.removeEventListener("abort", onAbort);
      release();
    }
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

  /**
   * Stops a run; one that is over stays as it is. `rollback` also removes the run and its checkpoints. With `wait` it
   * resolves when the end is written. `undefined` for an unknown run.
   */
  async cancel(runId: string, options: { action: "interrupt" | "rollback"; wait: boolean }): Promise<Run | undefined> {
    const active = this.#active.get(runId);
    if (active === undefined) return this.#storage.runs.get(runId);
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
    await removeProgress(this.#storage.checkpointer, run);
    return this.#storage.runs.delete(runId);
  }

  /** Takes up everything a former process has left: running runs go on from their checkpoint, pending ones queue. */
  async recover(): Promise<{ resumed: number }> {
    const unfinished = await this.#storage.runs.unfinished();
    for (const run of unfinished) {
      this.#track(run);
      if (run.status === "running") this.#interrupted.set(run.session_id, run.run_id);
    }
    for (const run of unfinished) this.#schedule(run);
    return { resumed: this.#interrupted.size };
  }

  /**
   * Refuses new runs, gives the running ones `graceMs`, then aborts their attempts without ending them: their rows stay
   * `running` and the next start goes on with them (reliability R7).
   */
  async drain(graceMs: number): Promise<void> {
    this.#stopping.abort();
    this.#delays.close();
    const ended = this.#queue.close();
    const reason = new AppError("server", "The server is stopping; the run goes on after its restart.");
    for (const active of this.#active.values()) if (!active.walking) active.abandon(reason);
    const grace = setTimeout(() => {
      for (const active of this.#active.values()) active.stop.request("drain");
    }, graceMs);
    await ended;
    clearTimeout(grace);
  }
}

function runNotFound(): AppError {
  return new AppError("not_found", "Run not found");
}
