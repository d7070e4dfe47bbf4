import type { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { z } from "zod";
import { missingNodes } from "../../graphs/changed-graph.ts";
import type { ServedGraph } from "../../graphs/served-graph.ts";
import { ownerOfItems } from "../../config/api-keys.ts";
import { logFields } from "../../logger.ts";
import { feedbackOf } from "../../tracing.ts";
import { GraphStore } from "../../storage/items/store-items.ts";
import { withinRun, type RunOutcome } from "../../storage/attempt-store.ts";
import type { Run, RunError, RunStatus } from "../../storage/records.ts";
import { readTraceparent } from "../../telemetry/traceparent.ts";
import { OwnerAccount, UsageHandler } from "../../usage/usage-of-run.ts";
import type { ActiveRun } from "../active-run.ts";
import {
  crashLoopError,
  type Ending,
  hasProgress,
  noPause,
  outcomeOf,
  type Pause,
  readPause,
  strictResumeError,
  toRunError,
} from "../status.ts";
import { requireStartCheckpoint } from "../admission/draft.ts";
import { otherExecutedRun } from "../admission/executed-runs.ts";
import { requireNextNodes } from "../admission/next-nodes.ts";
import { streamGraph, type StreamResult } from "./execute.ts";
import {
  begunBeside,
  saveStoppedTurn,
  saveUnfinishedTurn,
  leaveRun,
  settleWithin,
  stopPatience,
  stoppedEnding,
  webhookOf,
  writeOutcome,
} from "./end.ts";
import type { RunnerDeps } from "../options.ts";
import { countFirstToken } from "../run-stats.ts";
import { rollBack } from "../remove-run.ts";
import { RunConfig, wrongConfig } from "../admission/run-config.ts";
import type { StreamCompanion } from "../companion.ts";
import type { EventBody } from "../events/log.ts";
import { readEmittedMessages } from "../events/to-events.ts";

/** The result of an attempt that cannot begin. */
const failed = (error: RunError): StreamResult => ({
  ending: { kind: "failed", error },
  paused: false,
  values: undefined,
});

const stopped: StreamResult = { ending: { kind: "stopped" }, paused: false, values: undefined };

/**
 * One attempt of a run from its first event to its written end. Followers end only after the end is written. A run that
 * the server's own stop has interrupted is let go of with its row still `running`.
 */
export async function runAttempt(active: ActiveRun, deps: RunnerDeps): Promise<void> {
  const { run } = active;
  const { id: request_id, traceparent } = run.kwargs.request ?? {};
  const trace = deps.traceRun?.(run);
  active.trace = trace;
  const trace_id = trace?.traceId ?? (traceparent === undefined ? undefined : readTraceparent(traceparent)?.traceId);
  let end: AttemptEnd = { status: "parked" };
  try {
    end = await logFields.run({ request_id, trace_id }, () =>
      withinRun.run(active.stop.signal, performAttempt, active, deps),
    );
  } finally {
    trace?.end({ status: end.status, error: end.error?.error });
  }
}

/** How an attempt has ended: as its run, or `parked` for the next start. */
interface AttemptEnd {
  status: RunStatus | "parked";
  error?: RunOutcome["error"];
}

async function performAttempt(active: ActiveRun, deps: RunnerDeps): Promise<AttemptEnd> {
  const { stop } = active;
  const { run_id, session_id, graph_id, attempt } = active.run;
  const about = { run_id, session_id, graph_id, attempt };
  const begun = performance.now();
  const result = stop.signal.aborted ? stopped : await streamUntilStopped(active, deps);
  // A graph that has stopped without a request was parked before its next step by the server's shutdown.
  if (result.ending.kind === "stopped") stop.request("app_shutdown");
  if (active.ended) return { status: active.run.status };
  if (stop.state === "stop_requested") stop.transition("stopping");
  const isShutdown = result.ending.kind === "stopped" && stop.reason === "app_shutdown";
  if (isShutdown || active.store.isLost === true) {
    await leaveRun(active, deps);
    return { status: "parked" };
  }
  active.ended = true;
  const ending = result.ending.kind === "stopped" ? stoppedEnding(stop) : result.ending;
  const keeping = ending.kind === "stopped" ? active.store.checkpointer(active.log) : undefined;
  const values = keeping === undefined ? result.values : await saveStoppedTurn(active, keeping, deps);
  const run = await writeOutcome(
    active,
    // What the readers get last: the end of what was going on, and of a failed run its error.
    () => {
      active.companion?.onEnd(ending, values);
      if (ending.kind === "failed") active.log.emit({ event: "error", data: ending.error });
    },
    () => outcomeAfter(active, { ...result, ending, values }, deps),
    deps,
  );
  // What a forced stop has left under way must not come after what the next run writes.
  void keeping?.close();
  if (run === undefined) {
    await leaveRun(active, deps);
    return { status: "parked" };
  }
  if (values !== undefined) deps.lastValues.set(run, values);
  if (active.rollback) await rollBack(run, deps);
  active.settle(run);
  const { status, error } = outcomeOf(ending, noPause);
  deps.counts.ended[status] += 1;
  const duration_ms = Math.round(performance.now() - begun);
  deps.logger.info({ ...about, status: run.status, error, duration_ms }, "run_ended");
  active.companion?.onEndStored(run, values);
  return { status: run.status, error };
}

/** How a run has ended and leaves its session, with its webhook. Never throws. */
async function outcomeAfter(
  active: ActiveRun,
  { ending, paused, values }: StreamResult,
  deps: RunnerDeps,
): Promise<RunOutcome> {
  const { run, rollback } = active;
  // A run that has not begun leaves the session as the others do, and one of those may end at this moment.
  const readAt = run.attempt > 0 ? undefined : await begunBeside(run, deps);
  // A graph that has come to its end without a question waits for nothing.
  const pause = ending.kind === "done" && !paused ? noPause : await pauseAfter(active, ending, deps);
  const outcome = outcomeOf(ending, pause);
  const hasWebhook = run.kwargs.webhook !== undefined && !rollback;
  const webhook = hasWebhook ? await webhookOf(run, outcome, values, deps) : undefined;
  return { ...outcome, webhook, readAt };
}

/**
 * Runs one attempt. It is stopped with the reason `timeout` after the shorter of the run's limit (`config.timeout`, as
 * LangChain names it) and the server's, in milliseconds. Where it does not end in time after a stop, its later events are
 * ignored.
 */
async function streamUntilStopped(active: ActiveRun, deps: RunnerDeps): Promise<StreamResult> {
  const { stop, run } = active;
  const { data: config, error: wrong } = RunConfig.safeParse(active.runWithUser.kwargs.config);
  if (wrong !== undefined) return failed(toRunError(wrongConfig(run.assistant_id, wrong)));
  const onStop = (): void => {
    const { reason } = stop;
    // A shutdown and a failure of the storage are not requests to stop.
    if (reason === undefined || reason === "app_shutdown" || reason === "error") return;
    active.companion?.onStopRequested(reason);
  };
  stop.signal.addEventListener("abort", onStop, { once: true });
  // Waiting in the queue or for a person is no part of an attempt.
  const limit = Math.min(config.timeout ?? Infinity, deps.runTimeout ?? Infinity);
  const clock = limit === Infinity ? undefined : setTimeout(() => stop.request("timeout"), limit);
  try {
    const result = await settleWithin(stream(active, config, deps), stop.signal, deps.stopPatience ?? stopPatience);
    if (result === undefined) deps.logger.warn({ run_id: run.run_id }, "stop_forced");
    return result ?? stopped;
  } finally {
    clearTimeout(clock);
    stop.signal.removeEventListener("abort", onStop);
  }
}

/** What the session waits for afterwards; the checkpoint is read only where the stream cannot have shown it. */
async function pauseAfter(active: ActiveRun, ending: Ending, deps: RunnerDeps): Promise<Pause> {
  const { run } = active;
  try {
    // A run that has not begun leaves the state of the run before it, which may be of another graph.
    const before = run.attempt === 0 ? await otherExecutedRun(deps.storage.runs, run) : undefined;
    const graph = await deps.graphs.ofRun(before ?? active.runWithUser, "threads.read");
    const pause = await readPause(graph, run.session_id);
    if (ending.kind === "done") return pause;
    const missing = await missingNodes(graph, newestOf(run), deps.storage.checkpointer);
    // What a node asks that the graph no longer has, only the session still knows.
    return missing.length === 0 ? pause : await keptPause(run, pause, deps);
  } catch (error) {
    // The run ends all the same; only its open questions are unknown.
    deps.logger.warn({ err: error, run_id: run.run_id }, "session_state_unreadable");
    return noPause;
  }
}

/** The graph of a run. Throws where the checkpoint or a node that the run goes on with is not there. */
async function graphToRun({ run, runWithUser }: ActiveRun, resume: boolean, deps: RunnerDeps): Promise<ServedGraph> {
  const { checkpointer } = deps.storage;
  // Once more: the run before may have been rolled back, and its checkpoints with it.
  const origin = resume ? newestOf(run) : await requireStartCheckpoint(run, checkpointer);
  const graph = await deps.graphs.ofRun(runWithUser, "threads.create_run");
  if (resume || (run.kwargs.input ?? null) === null) await requireNextNodes(run, graph, origin, checkpointer);
  return graph;
}

/** The newest checkpoint of a run's session. */
function newestOf({ session_id }: Run): RunnableConfig {
  return { configurable: { thread_id: session_id, checkpoint_ns: "" } };
}

/** What the session waited for before the run, where nothing that the graph shows stands for it. */
async function keptPause({ session_id }: Run, pause: Pause, { storage }: RunnerDeps): Promise<Pause> {
  const session = await storage.sessions.get(session_id);
  return { interrupts: { ...session?.interrupts, ...pause.interrupts }, waiting: true };
}

/** Runs the graph from the run's input or its checkpoint. Never throws: a failure is an ending. */
async function stream(active: ActiveRun, config: z.infer<typeof RunConfig>, deps: RunnerDeps): Promise<StreamResult> {
  const { storage, graphs } = deps;
  const { run, log, stop, companion } = active;
  const { run_id, session_id, graph_id, attempt } = run;
  deps.logger.info({ run_id, session_id, graph_id, attempt }, "run_started");
  const looping = crashLoopError(run, deps.crashBudget);
  if (looping !== undefined) return failed(looping);
  try {
    const saver = active.store.checkpointer(log);
    active.saver = saver;
    const { ownerLimits: limits, counts, extension } = deps;
    const account = new OwnerAccount(run, log, { storage, limits, refused: counts.refused });
    active.account = account;
    const resumes = run.attempt > 1 || run.kwargs.command?.["resume"] !== undefined;
    companion?.onAttemptStart(resumes);
    await log.room();
    log.emit({ event: "metadata", data: { run_id: run.run_id, attempt: run.attempt } });
    const resume = run.attempt > 1 && (await hasProgress(storage.checkpointer, run));
    const graph = await graphToRun(active, resume, deps);
    const hasLoop = graphs.hasLoop(graph);
    if (!resume && hasLoop) await saveUnfinishedTurn(run, saver, deps);
    const isStrict = run.kwargs.strict_resume === true && !resume;
    const refusal = isStrict ? await strictResumeError(run, graph) : undefined;
    if (refusal !== undefined) return failed(refusal);
    const feedback = run.kwargs.feedback_keys === undefined ? undefined : feedbackOf(run, deps);
    const added = companion?.onGraphStart(hasLoop, resumes);
    const result = await streamGraph({
      run: active.runWithUser,
      config,
      graph,
      hasLoop,
      recursionLimit: extension?.recursionLimit,
      added,
      logger: deps.logger,
      resume,
      emittedMessages: resume ? await readEmittedMessages(storage.events, run.run_id, stop.signal) : undefined,
      saver,
      // Its owner is looked up when the graph uses it.
      store: new GraphStore(storage.items, async () =>
        ownerOfItems((await storage.sessions.get(session_id))?.owner ?? null),
      ),
      tracers: tracersOf(active, deps),
      // The agent's loop counts its own model calls.
      usage: hasLoop ? undefined : new UsageHandler(account, extension?.priceOf),
      emit: (event) => emit(event, active, added, deps),
      project: deps.project,
      active,
    });
    const urls = await feedback;
    if (urls !== undefined && !active.ended) log.emit({ event: "feedback", namespace: [], data: urls });
    return result;
  } catch (error) {
    return { ending: { kind: "failed", error: toRunError(error) }, paused: false, values: undefined };
  }
}

/** Puts an event of the graph into the log of its run. */
function emit(event: EventBody, active: ActiveRun, added: StreamCompanion | undefined, { counts }: RunnerDeps): void {
  if (!active.hasEmittedText && event.event === "messages") {
    active.hasEmittedText = true;
    countFirstToken(active.run, counts);
  }
  if (!active.ended) active.log.emit(added?.toEmitted(event) ?? event);
}

/** What receives the run's spans: LangSmith, in the project that the run names or in the server's, and OpenTelemetry. */
function tracersOf({ run, trace }: ActiveRun, { tracer, tracerFor }: RunnerDeps): BaseCallbackHandler[] {
  const { langsmith_tracer: place } = run.kwargs;
  const own = place === undefined ? undefined : tracerFor?.(place);
  return [own ?? tracer, trace?.handler].filter((handler) => handler !== undefined);
}
