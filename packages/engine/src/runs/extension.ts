import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import type { StopReason } from "../run-events.ts";
import type { JsonObject, Run, Session } from "../storage/records.ts";
import type { ServedGraph } from "../graphs/load.ts";
import type { ActiveRun } from "./active-run.ts";
import type { RunRequest } from "./admission/draft.ts";
import type { EventBody } from "./events/log.ts";
import type { Ending } from "./status.ts";
import type { GraphChunk } from "./events/to-events.ts";

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

/** What of a stopped turn was kept. */
export interface KeptTurn {
  /** The session's state, where it was changed. */
  values: Record<string, unknown> | undefined;
  /** Tells the run's readers; there has to be room in its log. */
  tell(): void;
}

/** Puts chunks in the place of one, `undefined` where it stays. `values` are the root's last ones. */
export type ReplaceChunk = (
  chunk: GraphChunk,
  values: Record<string, unknown> | undefined,
) => Promise<GraphChunk[]> | undefined;

/** What goes with one run. Its methods are called in this order; a run that is stopped before it begins is only stopped. */
export interface RunCompanion {
  /** An attempt begins; `resumes`: it goes on from a checkpoint. */
  begins(resumes: boolean): void;
  /** The graph is about to walk. */
  walks(graph: ServedGraph, resumes: boolean): void;
  /** What the graph finds in its `configurable` beside what the client has said. */
  lend(signal: AbortSignal): Promise<JsonObject>;
  /** What replaces chunks of the graph's stream; `undefined` where none is replaced. */
  replaces(graph: ServedGraph, saver: BaseCheckpointSaver, resume: boolean): ReplaceChunk | undefined;
  /** An event of the graph as it is told. */
  asTold(event: EventBody): EventBody;
  /** Hears a chunk of the graph's stream that readers were told. */
  heard(mode: string, payload: unknown): void;
  stopRequested(reason: StopReason): void;
  /** Keeps what a stopped run has done; without a turn there is nothing to keep. Throws what the store throws. */
  stopped(reason: StopReason, turn?: { graph: ServedGraph; saver: BaseCheckpointSaver }): Promise<KeptTurn>;
  /** Tells readers the end of what was going on. */
  ended(ending: Ending, values: Record<string, unknown> | undefined): void;
  /** The run's end is on disk. */
  over(run: Run): void;
}
