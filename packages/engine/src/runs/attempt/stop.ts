import { RunControl } from "@langchain/langgraph";
import { AppError } from "../../errors/errors.ts";
import type { StopReason } from "../../run-events.ts";
import { withTimeout } from "../../concurrency/abort.ts";

/**
 * Where a run stands on its way to a stop. `idle`: it has not begun, or it ended by itself; `stopping`: what it did is
 * being kept; `stopped`: its end is written.
 */
export const stopStates = ["idle", "running", "stop_requested", "stopping", "stopped"] as const;
export type StopState = (typeof stopStates)[number];

/** Every move there is. A run has its own controller, so after `stopped` there is nothing to set back. */
export const stopMoves: Readonly<Record<StopState, readonly StopState[]>> = {
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
  /** Aborted by the request. */
  readonly signal: AbortSignal;
  /** Asks the graph to stop before its next step, which it does by itself (a drain). */
  readonly control: RunControl = new RunControl();
  readonly #controller = new AbortController();
  readonly #over = Promise.withResolvers<boolean>();
  #state: StopState = "idle";
  #reason: StopReason | undefined;

  constructor() {
    this.signal = this.#controller.signal;
  }

  get state(): StopState {
    return this.#state;
  }

  /** Why the run was stopped; `undefined` while nobody has asked for it. */
  get reason(): StopReason | undefined {
    return this.#reason;
  }

  /**
   * Stops the run: a `user_requested`, a `session_switch` and a `timeout` end it, an `app_shutdown` leaves its row
   * `running` for the next start, an `error` (of the store, then `cause`) fails it. A second request does nothing.
   */
  request(reason: StopReason, cause?: unknown): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    if (this.#state === "idle" || this.#state === "running") this.move("stop_requested");
    this.#controller.abort(cause ?? errorOf(reason));
  }

  /** Notes what the run has come to. A move that is not in the table is a bug and throws. */
  move(to: StopState): void {
    if (!stopMoves[this.#state].includes(to)) throw new Error(`A stop cannot go from ${this.#state} to ${to}.`);
    this.#state = to;
  }

  /** Nothing more comes of the run: it is stopped when that was asked for, else idle again. */
  rest(): void {
    // A request that came while the run ended by itself finds it over.
    if (this.#state === "stop_requested") this.move("stopping");
    if (this.#state === "stopping") this.move("stopped");
    else if (this.#state === "running") this.move("idle");
    this.#over.resolve(this.#state === "stopped");
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
