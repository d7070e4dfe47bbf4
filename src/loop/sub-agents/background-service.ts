import type { BackgroundAgent, BackgroundAgents } from "../../agents/background.ts";
import type { RunContext } from "../../state.ts";

/** The work of one agent in the background: who asks for it, and what its run may choose. */
export interface BackgroundWork {
  /** The ledger's name of the call, and the agent's place in it: the same again begins nothing. */
  call_id: string;
  place: number;
  name: string;
  task: string;
  context: RunContext;
}

/** Sessions that a run's session has sent agents to work in. */
export interface BackgroundService {
  /** Resolves when the work is on disk. Throws what keeps it from being admitted. */
  send(work: BackgroundWork, signal: AbortSignal): Promise<{ session_id: string; run_id: string }>;
  /** Oldest first, without those that were put away and those whose sessions are in `except`. */
  list(except?: ReadonlySet<unknown>): Promise<BackgroundAgent[]>;
  watch: BackgroundAgents["watch"];
  stop: BackgroundAgents["stop"];
  clear: BackgroundAgents["clear"];
}
