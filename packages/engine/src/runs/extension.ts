import type { RunCompanion } from "./companion.ts";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import type { Run, Session } from "../storage/records.ts";
import type { ServedGraph } from "../graphs/served-graph.ts";
import type { ActiveRun } from "./active-run.ts";
import type { RunRequest } from "./admission/draft.ts";

/** What an agent adds to the runs of a server; a server that only serves other people's graphs has none. */
export interface RunExtension {
  /** Supersteps of a graph with an agent loop, where neither the run nor the graph says how many. */
  recursionLimit: number;
  /** What goes with a run for as long as this process has it in hand. */
  accompany(active: ActiveRun, runs: RunStarter): RunCompanion;
  /** Keeps a turn that left a question open (`abandoned`) or broke off, before the next one drops it. Throws what the store throws. */
  keepFormer(turn: FormerTurn): Promise<void>;
  /** A session is about to be removed: ends what goes on for it outside of its runs. */
  forget(sessionId: string): Promise<void> | void;
}

/** By which an extension starts and stops runs of other sessions. They are admitted while the server stops, too, for the next start. */
export interface RunStarter {
  start: (session: Session, request: RunRequest) => Promise<Run>;
  stop: (runId: string, wait: boolean) => Promise<unknown>;
  /** The companion of the run that works on a session now. */
  companionOf: (sessionId: string) => RunCompanion | undefined;
}

/** A turn of a session whose next message has come. */
export interface FormerTurn {
  graph: ServedGraph;
  run: Run;
  reason: "abandoned" | "failed";
  saver: BaseCheckpointSaver;
}
