import type { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import type { Graphs } from "../graph/load.ts";
import type { Logger } from "@millrace/engine/logger";
import type { RunExtension } from "./extension.ts";
import type { Run, RunKwargs } from "@millrace/engine/storage/records";
import type { Storage } from "@millrace/engine/storage/storage";
import type { Project } from "./to-events.ts";
import type { ToldEnd } from "./webhook-of.ts";

/** What performing a run needs from its server. */
export interface Performance {
  storage: Storage;
  graphs: Graphs;
  logger: Logger;
  /** What an agent adds to runs; absent where only other people's graphs are served. */
  extension?: RunExtension | undefined;
  /** Receives the spans of every run; absent where nobody traces. */
  tracer?: BaseCallbackHandler | undefined;
  /** The same for a run that says where its spans go besides (`langsmith_tracer`). */
  tracerFor?: ((place: NonNullable<RunKwargs["langsmith_tracer"]>) => BaseCallbackHandler) | undefined;
  /** Attempts that may end with the process before a run is set aside. */
  crashBudget: number;
  /** Milliseconds that an attempt may take; absent: as long as it takes. */
  runTimeout?: number | undefined;
  /** Milliseconds between two tries of what the store refuses. */
  retryDelay: number;
  /** Aborted when the server stops. */
  stopping: AbortSignal;
  /** The last values of runs that have just ended, by the row they ended with. */
  lastValues: WeakMap<Run, Record<string, unknown>>;
  /** Where runs are judged (`feedback_keys`); absent where nobody traces. */
  feedbackUrls?: ((runId: string, keys: readonly string[]) => Promise<Record<string, string>>) | undefined;
  /** What is told of a run's end to whoever asked for it; absent: nobody is told. */
  webhookBody?: ((run: Run, end: ToldEnd) => string) | undefined;
  /** Runs the stream transformers of graphs; absent: nobody does. */
  project?: Project | undefined;
  /** Told of each run that is over; see `RunsOptions`. */
  onOver?: (run: Run) => void;
  /** Milliseconds a stop waits for what it stops. Default 5 s. */
  stopPatience?: number;
}
