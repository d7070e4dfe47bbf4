import type { RunError, RunStatus, Session } from "@millrace/engine/storage/records";
import type { RunOutcome } from "@millrace/engine/storage/storage";

/** Why a walk through a graph is over. */
export type Ending =
  | { kind: "done" }
  | { kind: "failed"; error: RunError }
  /** Somebody stopped it, before or while it ran; `error`: its time was up. */
  | { kind: "stopped"; error?: RunError };

/** What the last checkpoint waits for: questions by task id, or only a breakpoint (`next` is not empty). */
export interface Pause {
  interrupts: Session["interrupts"];
  waiting: boolean;
}

/** The pause of a graph in which nothing waits. */
export const noPause: Pause = { interrupts: {}, waiting: false };

/** Whether a run with this status never changes again. */
export function isOver(status: RunStatus): status is RunOutcome["status"] {
  return status !== "pending" && status !== "running";
}

/**
 * How an ending is written down for the run and its session: a run that pauses for an answer is a `success`, its
 * session is `interrupted`. Storage keeps the session `busy` while another run is queued.
 */
export function outcomeOf(ending: Ending, pause: Pause): RunOutcome {
  const resting = pause.waiting || Object.keys(pause.interrupts).length > 0 ? "interrupted" : "idle";
  switch (ending.kind) {
    case "done":
      return { status: "success", session_status: resting, interrupts: pause.interrupts };
    case "failed":
      return { status: "error", error: ending.error, session_status: "error", interrupts: pause.interrupts };
    case "stopped": {
      const { interrupts } = pause;
      return ending.error === undefined
        ? { status: "interrupted", session_status: resting, interrupts }
        : { status: "timeout", error: ending.error, session_status: resting, interrupts };
    }
  }
}
