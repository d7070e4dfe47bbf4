import type { BackgroundAgent, BackgroundAgents } from "../../agents/background.ts";
import type { RunContext } from "../../state.ts";

/** Work for one background agent. */
export interface BackgroundWork {
  /** The call's ledger id and the agent's index: the same pair never starts twice. */
  call_id: string;
  place: number;
  name: string;
  task: string;
  context: RunContext;
}

/** Background agents of a run's session. */
export interface BackgroundService {
  /** Resolves when the work is stored. Throws if it is not admitted. */
  send(work: BackgroundWork, signal: AbortSignal): Promise<{ session_id: string; run_id: string }>;
  /** Oldest first, without cleared ones and those whose sessions are in `except`. */
  list(except?: ReadonlySet<unknown>): Promise<BackgroundAgent[]>;
  watch: BackgroundAgents["watch"];
  stop: BackgroundAgents["stop"];
  clear: BackgroundAgents["clear"];
}
