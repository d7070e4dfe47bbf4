import type { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import type { Config } from "../config/config.ts";
import type { OwnerLimits } from "../config/owner-limits.ts";
import type { Logger } from "../logger.ts";
import type { StopReason } from "../run-events.ts";
import type { Run, RunKwargs, Session, StopAction } from "../storage/records.ts";
import type { Storage } from "../storage/storage.ts";
import type { Graphs } from "../graphs/load.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { Project } from "./events/to-events.ts";
import type { RunCounts } from "./run-stats.ts";
import type { RunCompanion } from "./companion.ts";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import type { ServedGraph } from "../graphs/served-graph.ts";
import type { ActiveRun } from "./active-run.ts";
import type { RunRequest } from "./admission/draft.ts";
import type { PriceOf } from "../usage/usage-of-run.ts";

/** How a run ended, for its webhook. Dates are ISO-8601. */
export interface RunEnd {
  values: Record<string, unknown> | null;
  started_at: string;
  ended_at: string;
}

/** What the attempts of runs need of the server. */
export interface RunnerDeps {
  storage: Storage;
  graphs: Graphs;
  logger: Logger;
  /** What an agent adds to runs; absent where only other people's graphs are served. */
  extension?: RunExtension | undefined;
  /** Receives the spans of every run; absent without tracing. */
  tracer?: BaseCallbackHandler | undefined;
  /** The same for a run that says where its spans go besides (`langsmith_tracer`). */
  tracerFor?: ((place: NonNullable<RunKwargs["langsmith_tracer"]>) => BaseCallbackHandler) | undefined;
  /** Begins the OpenTelemetry trace of an attempt; absent where none is exported. */
  traceRun?: Telemetry["traceRun"];
  /** Attempts that may end with the process before a run is set aside. */
  crashBudget: number;
  /** Milliseconds that an attempt may take; absent: as long as it takes. */
  runTimeout?: number | undefined;
  /** What the model calls of owners may use. */
  ownerLimits: OwnerLimits;
  /** Milliseconds between two tries of what the store refuses. */
  retryDelay: number;
  /** Aborted when the server stops. */
  stopping: AbortSignal;
  counts: RunCounts;
  /** The folder that the agent's tools work in; absent where there are none. */
  workspace?: string | undefined;
  /** The last values of runs that have just ended, by the row they ended with. */
  lastValues: WeakMap<Run, Record<string, unknown>>;
  /** Gives the addresses for feedback on runs (`feedback_keys`); absent without tracing. */
  feedbackUrls?: ((runId: string, keys: readonly string[]) => Promise<Record<string, string>>) | undefined;
  /** Makes the body of a run's webhook; without it no webhooks are sent. */
  webhookBody?: ((run: Run, end: RunEnd) => string) | undefined;
  /** Called when the webhook of a run has been stored. */
  onWebhook?: (() => void) | undefined;
  /** Runs the stream transformers of graphs; without it none are run. */
  project?: Project | undefined;
  /** Milliseconds a stop waits for what it stops. Default 5 s. */
  stopPatience?: number;
}

/** What the runs of a server need. */
export interface RunsOptions {
  storage: Storage;
  graphs: Graphs;
  logger: Logger;
  /** What an agent adds to runs; absent where only other people's graphs are served. */
  extension?: RunExtension | undefined;
  /** The folder that the agent's tools work in. */
  workspace?: string | undefined;
  /** Receives the spans of every run; absent without tracing. */
  tracer?: BaseCallbackHandler | undefined;
  /** The same for a run that says where its spans go besides (`langsmith_tracer`). */
  tracerFor?: RunnerDeps["tracerFor"];
  /** Begins the OpenTelemetry trace of an attempt; absent where none is exported. */
  traceRun?: Telemetry["traceRun"];
  /** The most runs executed at the same time, over all sessions. */
  maxConcurrent: number;
  /** Attempts that may end with the process before a run is set aside as `crash_loop`. Default 3. */
  crashBudget?: number;
  /** Runs that may wait, over all sessions; one more is refused with `rate_limit`. Default any number. */
  queueLimit?: number;
  /** How many of them may be of one owner's sessions. Default any number. */
  ownerQueueLimit?: number | undefined;
  /** Milliseconds that an attempt of a run may take at most; see `limitTime`. Default any number. */
  runTimeout?: number | undefined;
  /** What the model calls of owners may use. Default as much as they do. */
  ownerLimits?: OwnerLimits;
  /** Milliseconds between two tries of what the store refuses. Default one second. */
  retryDelay?: number;
  /** Milliseconds that an admission, or work between runs, waits for its turn in its session. Default 10 s. */
  turnPatience?: number;
  /** Gives the addresses for feedback on runs (`feedback_keys`); absent without tracing. */
  feedbackUrls?: ((runId: string, keys: readonly string[]) => Promise<Record<string, string>>) | undefined;
  /** Makes the body of a run's webhook, a JSON object. By default no webhooks are sent. */
  webhookBody?: ((run: Run, end: RunEnd) => string) | undefined;
  /** Called when the webhook of a run has been stored; must not throw. */
  onWebhook?: (() => void) | undefined;
  /** Runs the stream transformers of graphs, for runs of the event protocol. By default none are run. */
  project?: Project | undefined;
}

/** What holds for the runs of a server where its options say nothing. */
export const runDefaults = { retryDelay: 1000, crashBudget: 3, ownerLimits: {} };

/** How a run is stopped; see `Runs.cancel`. */
export interface CancelOptions {
  action: StopAction;
  /** Default `user_requested`. */
  reason?: StopReason;
  /** The reason as the client gave it; the run's `cancel_reason`. */
  said?: string | undefined;
  wait: boolean;
  clearQueue?: boolean;
  /** Only while it waits; throws `conflict` otherwise. Not with `clearQueue`. */
  onlyPending?: boolean;
}

/** What bounds the runs of a server, as its configuration says it. `auth`: the rules of a user, where there are any. */
export function runLimits(
  config: Config,
  auth: object | undefined,
): Pick<
  RunsOptions,
  "maxConcurrent" | "queueLimit" | "ownerQueueLimit" | "ownerLimits" | "crashBudget" | "runTimeout" | "turnPatience"
> {
  const { maxConcurrentRuns, queueLimit, ownerLimits, crashBudget, runSeconds, conversations } = config;
  // One key or user must not keep the others out: half of the queue is for them. A file may get more of them at any time.
  const isFile = config.secretFiles.value("MILLRACE_API_KEYS") !== undefined;
  const isShared = auth !== undefined || isFile || new Set(config.apiKeys.map(({ owner }) => owner)).size > 1;
  const ownerQueueLimit = isShared ? Math.ceil(queueLimit / 2) : undefined;
  const runTimeout = runSeconds === undefined ? undefined : runSeconds * 1000;
  const turnPatience = conversations.lockSeconds * 1000;
  const room = { maxConcurrent: maxConcurrentRuns, queueLimit, ownerQueueLimit };
  return { ...room, ownerLimits, crashBudget, runTimeout, turnPatience };
}

/** What an agent adds to the runs of a server; a server that only serves other people's graphs has none. */
export interface RunExtension {
  /** Supersteps of a graph with an agent loop, where neither the run nor the graph says how many. */
  recursionLimit: number;
  /** What a model costs that a graph asks by itself; by default nothing is known. */
  priceOf?: PriceOf;
  /** What goes with a run for as long as this process has it in hand. */
  createCompanion(active: ActiveRun, runs: RunStarter): RunCompanion;
  /** Keeps a turn that left a question open (`abandoned`) or broke off, before the next one drops it. Throws what the store throws. */
  saveUnfinishedTurn(turn: UnfinishedTurn): Promise<void>;
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
interface UnfinishedTurn {
  graph: ServedGraph;
  run: Run;
  reason: "abandoned" | "failed";
  saver: BaseCheckpointSaver;
}
