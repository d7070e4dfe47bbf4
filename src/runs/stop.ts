import { RunControl } from "@langchain/langgraph";
import { AppError } from "../errors.ts";

/**
 * Who stops a run: a client (`cancel` ends it), the server's own stop (`drain` leaves its row `running`, so that the next
 * start goes on with it), or a store that no longer takes its events (`storage` fails it).
 */
export type StopCause = "cancel" | "drain" | "storage";

/** One run's way to be stopped. The first cause wins; the signal's reason is an `AppError` that says it. */
export interface Stop {
  readonly signal: AbortSignal;
  readonly cause: StopCause | undefined;
  /** Asks the graph to stop before its next step, which it does by itself (a drain, reliability R7). */
  readonly control: RunControl;
  request(cause: StopCause, reason?: unknown): void;
}

function reasonOf(cause: StopCause): AppError {
  switch (cause) {
    case "cancel":
      return new AppError("cancelled", "The run was cancelled.");
    case "drain":
      return new AppError("server", "The server is stopping; the run goes on after its restart.", {
        recoverable: true,
      });
    case "storage":
      return new AppError("storage_io", "The run's events could not be stored.");
  }
}

/** A stop that nobody has asked for yet. */
export function createStop(): Stop {
  const controller = new AbortController();
  let first: StopCause | undefined;
  return {
    signal: controller.signal,
    control: new RunControl(),
    get cause() {
      return first;
    },
    request(cause, reason) {
      if (first !== undefined) return;
      first = cause;
      controller.abort(reason ?? reasonOf(cause));
    },
  };
}
