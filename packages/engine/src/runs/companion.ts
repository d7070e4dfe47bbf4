import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import type { ServedGraph } from "../graphs/served-graph.ts";
import type { StopReason } from "../run-events.ts";
import type { JsonObject, Run } from "../storage/records.ts";
import type { EventBody } from "./events/log.ts";
import type { GraphChunk } from "./events/to-events.ts";
import type { Ending } from "./status.ts";

/** What goes with one run. Its methods are called in this order; a run that is stopped before it begins is only stopped. */
export interface RunCompanion {
  /** An attempt begins; `resumes`: it goes on from a checkpoint. */
  onAttemptStart(resumes: boolean): void;
  /** What every graph finds in its `configurable` beside what the client has said. */
  provideConfigurable(signal: AbortSignal): Promise<JsonObject>;
  /** The graph is about to run. `undefined`: the agent adds nothing to it and follows nothing of it. */
  onGraphStart(hasLoop: boolean, resumes: boolean): StreamCompanion | undefined;
  onStopRequested(reason: StopReason): void;
  /** Keeps what a stopped run has done; without a turn there is nothing to keep. Throws what the store throws. */
  saveStoppedTurn(reason: StopReason, turn?: { graph: ServedGraph; saver: BaseCheckpointSaver }): Promise<KeptTurn>;
  /** Emits the end of what was going on. */
  onEnd(ending: Ending, values: Record<string, unknown> | undefined): void;
  /** What it is at, as JSON, for readers at this server and at others; `undefined` before its graph runs. */
  readonly live: object | undefined;
  /** The run's end is on disk, and its readers know it. `values`: the last ones, where they were streamed. */
  onEndStored(run: Run, values: Record<string, unknown> | undefined): void;
}

/** What an agent adds to the stream of a graph that calls its loop, or that streams messages. */
export interface StreamCompanion {
  /** What replaces chunks of the graph's stream; `undefined` where none is replaced. */
  chunkReplacer(graph: ServedGraph, saver: BaseCheckpointSaver, resume: boolean): ReplaceChunk | undefined;
  /** An event of the graph as it goes to the readers. */
  toEmitted(event: EventBody): EventBody;
  /** Called for each chunk of the graph's stream, after its events went to the readers. */
  onChunk(mode: string, payload: unknown): void;
}

/** What of a stopped turn was kept. */
export interface KeptTurn {
  /** The session's state, where it was changed. */
  values: Record<string, unknown> | undefined;
  /** Emits it to the run's readers; there has to be room in its log. */
  emit(): void;
}

/** Puts chunks in the place of one, `undefined` where it stays. `values` are the root's last ones. */
export type ReplaceChunk = (
  chunk: GraphChunk,
  values: Record<string, unknown> | undefined,
) => Promise<GraphChunk[]> | undefined;
