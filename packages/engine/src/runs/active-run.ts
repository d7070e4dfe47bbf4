import type { JsonObject, Run } from "../storage/records.ts";
import type { AttemptStore, RunCheckpointer } from "../storage/attempt-store.ts";
import type { Storage } from "../storage/storage.ts";
import type { RunCompanion } from "./companion.ts";
import { type LogSubscribers, RunLog } from "./events/log.ts";
import { withUserOf } from "./admission/run-config.ts";
import type { RunTrace } from "../telemetry/telemetry.ts";
import type { OwnerAccount } from "../usage/usage-of-run.ts";
import { RunControl } from "@langchain/langgraph";
import { AppError } from "../errors/errors.ts";
import type { StopReason } from "../run-events.ts";
import { withTimeout } from "../concurrency/abort.ts";
import { clusterTime } from "../concurrency/cluster-time.ts";

/** A run this process has in hand, from its admission (or the start of the server) until it is over. */
export class ActiveRun {
  /** The newest row. */
  run: Run;
  readonly log: RunLog;
  /** What it writes to: for no attempt until it has begun, then for its attempt. */
  store: AttemptStore;
  readonly stop = new Stop();
  /** The checkpointer of the current attempt; closed before a stop writes. */
  saver: RunCheckpointer | undefined;
  /** What an agent adds to the run; absent where there is no agent. */
  companion: RunCompanion | undefined;
  /** The row it ended with; rejects when the server lets go of a run that is not over. */
  readonly over: Promise<Run>;
  /** What the current attempt uses of its owner's limits; `undefined` before the first one. */
  account: OwnerAccount | undefined;
  /** The spans of the current attempt; `undefined` where none are exported. */
  trace: RunTrace | undefined;
  /** Its place among all runs admitted since the start; not yet admitted, it comes after all. */
  admission = Number.POSITIVE_INFINITY;
  /** Whether its graph has begun to run; until then it can be ended in the queue. */
  isExecuting = false;
  /** Whether text of a message has been emitted. */
  hasEmittedText = false;
  /** Set once its end is being written, so that it is written once. */
  ended = false;
  /** Whether the client gave it a key by which it may ask again for the result; `undefined`: only the storage knows. */
  hasKey: boolean | undefined;
  /** All that is known of the user who started it, where its row holds only the user's identity. */
  user: JsonObject | undefined;
  /** Remove it and its checkpoints when it has ended. */
  rollback = false;
  readonly #storage: Pick<Storage, "attempt" | "events">;
  readonly #settle: (run: Run) => void;
  readonly #abandon: (reason: unknown) => void;
  #readers = 0;
  #onUnread: (() => void) | undefined;
  #wasRead = false;

  /** `elsewhere`: who reads it at other servers. */
  constructor(run: Run, storage: Pick<Storage, "attempt" | "events">, elsewhere?: LogSubscribers) {
    this.run = run;
    this.#storage = storage;
    this.store = storage.attempt({ ...run, attempt: undefined });
    const onFailure = (error: unknown): void => this.stop.request("error", error);
    this.log = new RunLog(storage.events, this.store, run, onFailure, elsewhere);
    const { promise, resolve, reject } = Promise.withResolvers<Run>();
    this.over = promise;
    this.#settle = resolve;
    this.#abandon = reject;
    // A run without readers must not end in an unhandled rejection.
    promise.catch(() => undefined);
  }

  /** Whether it has begun, here or in a former process. */
  get hasBegun(): boolean {
    return this.isExecuting || this.run.status === "running";
  }

  /** The run as its graph gets it, with the whole user. */
  get runWithUser(): Run {
    return this.user === undefined ? this.run : withUserOf(this.run, this.user);
  }

  /** A worker has claimed it: `run` is the row with the attempt that begins. */
  begin(run: Run): void {
    this.run = run;
    this.store = this.#storage.attempt(run);
    this.log.writer = this.store;
    this.isExecuting = true;
    // A run that was stopped before a crash is taken up only to be ended.
    if (this.stop.state === "idle") this.stop.transition("running");
  }

  /** The run is over and its row says so: readers end. */
  settle(run: Run): void {
    this.run = run;
    this.log.close();
    this.stop.rest();
    this.#settle(run);
  }

  /** The run stays unfinished for the next start of the server: readers end. */
  abandon(reason: unknown): void {
    this.log.close();
    this.stop.rest();
    this.#abandon(reason);
  }

  /** Who reads it now. */
  get readers(): number {
    return this.#readers;
  }

  /** Counts a reader until the returned function is called, once. */
  addReader(): () => void {
    this.#readers += 1;
    this.#wasRead = true;
    return () => {
      this.#readers -= 1;
      if (this.#readers === 0) this.#onUnread?.();
    };
  }

  /** Resolves when its last reader has left, or after `patience` milliseconds without any reader. */
  async unread(patience: number): Promise<void> {
    if (this.#wasRead && this.#readers === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onUnread = resolve;
    const timer = this.#wasRead ? undefined : setTimeout(() => this.#readers === 0 && resolve(), patience).unref();
    await promise;
    clearTimeout(timer);
  }
}

/** Whether a run need not wait for its time; one that is not delayed need not, wherever the machine's clock has been set to. */
export function isDue({ hasBegun, run }: ActiveRun): boolean {
  return hasBegun || run.created_at === run.updated_at || Date.parse(run.created_at) <= clusterTime();
}

/** Whether the next run of a session is of a graph that is not served. One that is to be stopped needs no graph. */
export function waitsForGraph(ofSession: readonly ActiveRun[], served: readonly string[]): boolean {
  const due = ofSession.filter((active) => !active.ended && isDue(active));
  const next = due.find(({ hasBegun }) => hasBegun) ?? due.toSorted((one, other) => one.admission - other.admission)[0];
  if (next === undefined || next.stop.signal.aborted) return false;
  return !served.includes(next.run.graph_id);
}

/**
 * Where a run stands on its way to a stop. `idle`: it has not begun, or it ended by itself; `stopping`: what it did is
 * being kept; `stopped`: its end is written.
 */
export const stopStates = ["idle", "running", "stop_requested", "stopping", "stopped"] as const;
export type StopState = (typeof stopStates)[number];

/** Every move there is. A run has its own controller, so after `stopped` there is nothing to set back. */
export const stopTransitions: Readonly<Record<StopState, readonly StopState[]>> = {
  idle: ["running", "stop_requested"],
  running: ["idle", "stop_requested"],
  stop_requested: ["stopping"],
  stopping: ["stopped"],
  stopped: [],
};

/**
 * One run's way to be stopped: one abort controller. Of several requests the first one counts, and the signal's reason
 * is an `AppError` that says it.
 */
export class Stop {
  /** Asks the graph to stop before its next step, which it does by itself (a drain). */
  readonly control: RunControl = new RunControl();
  readonly #controller = new AbortController();
  /** Aborted by the request. */
  readonly signal: AbortSignal = this.#controller.signal;
  readonly #over = Promise.withResolvers<boolean>();
  /** How far it has come. Only `move` sets it. */
  state: StopState = "idle";
  /** Why the run was stopped; `undefined` before it is. Only `request` sets it. */
  reason: StopReason | undefined;

  /**
   * Stops the run: a `user_requested`, a `session_switch` and a `timeout` end it, an `app_shutdown` leaves its row
   * `running` for the next start, an `error` (of the store, then `cause`) fails it. A second request does nothing.
   */
  request(reason: StopReason, cause?: unknown): void {
    if (this.reason !== undefined) return;
    this.reason = reason;
    if (this.state === "idle" || this.state === "running") this.transition("stop_requested");
    this.#controller.abort(cause ?? errorOf(reason));
  }

  /** Notes what the run has come to. A move that is not in the table is a bug and throws. */
  transition(to: StopState): void {
    if (!stopTransitions[this.state].includes(to)) throw new Error(`A stop cannot go from ${this.state} to ${to}.`);
    this.state = to;
  }

  /** Nothing more comes of the run: it is stopped when that was asked for, else idle again. */
  rest(): void {
    // A request that came while the run ended by itself finds it over.
    if (this.state === "stop_requested") this.transition("stopping");
    if (this.state === "stopping") this.transition("stopped");
    else if (this.state === "running") this.transition("idle");
    this.#over.resolve(this.state === "stopped");
  }

  /** Whether the run was stopped, at the latest `timeout` milliseconds from now. */
  async wait(timeout: number): Promise<boolean> {
    return await withTimeout(this.#over.promise, timeout, () => false);
  }
}

function errorOf(reason: StopReason): AppError {
  switch (reason) {
    case "user_requested":
      return new AppError("cancelled", "The run was cancelled.");
    case "session_switch":
      return new AppError("cancelled", "The run was cancelled: its session is being removed.");
    case "timeout":
      return new AppError("timeout", "The run was stopped: its time is up.");
    case "app_shutdown":
      return new AppError("server", "The server is stopping; the run goes on after its restart.", {
        recoverable: true,
      });
    case "error":
      return new AppError("storage_io", "The run's events could not be stored.");
  }
}
