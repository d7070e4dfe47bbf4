import type { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import type { BaseCheckpointSaver, BaseStore } from "@langchain/langgraph-checkpoint";
import { Command, Send, isGraphDrained, isInterrupted, type Interrupt } from "@langchain/langgraph";
import { z } from "zod";
import { isAppError } from "../../errors/errors.ts";
import { streamModes, type StreamMode } from "../../run-events.ts";
import { checkpointerFor, isLegacyGraph, type ServedGraph } from "../../graphs/served-graph.ts";
import { JsonObject, type Run } from "../../storage/records.ts";
import type { Logger } from "../../logger.ts";
import { receivesModelCalls, type UsageHandler } from "../../usage/usage-of-run.ts";
import { unusedAnswers, type Ending, readPause, toRunError } from "../status.ts";
import type { ActiveRun } from "../active-run.ts";
import type { StreamCompanion } from "../companion.ts";
import type { RunConfig } from "../admission/run-config.ts";
import { createLifecycle, type LifecycleEvents } from "../events/lifecycle-events.ts";
import type { EventBody } from "../events/log.ts";
import { answeredByTask, legacyStreamModes, readLegacyStream } from "./legacy-graphs.ts";
import {
  createTranslator,
  type GraphChunk,
  planStream,
  type Project,
  type Projections,
  type StreamPlan,
  type EmittedMessages,
} from "../events/to-events.ts";

const Target = z.union([z.string(), z.object({ node: z.string(), input: z.unknown() })]);

/** What a run may say in `command`. */
export const RunCommand = z.object({
  resume: z.unknown().optional(),
  update: z.union([JsonObject, z.array(z.tuple([z.string(), z.unknown()])).max(1_000)]).nullish(),
  goto: z.union([Target, z.array(Target).max(1_000)]).nullish(),
});

/** Everything that one execution of a graph needs. */
export interface GraphStream {
  active: ActiveRun;
  /** The run as its graph gets it. */
  run: Run;
  /** The run's own, as it was read. */
  config: z.infer<typeof RunConfig>;
  graph: ServedGraph;
  /** It calls the agent's loop, whose words are the conversation's. */
  hasLoop: boolean;
  /** Supersteps of such a graph, where neither the run nor the graph says how many. */
  recursionLimit: number | undefined;
  /** What an agent adds to the stream; absent where it adds nothing. */
  added: StreamCompanion | undefined;
  logger: Pick<Logger, "warn">;
  /** Go on from the run's checkpoint instead of beginning with its input. */
  resume: boolean;
  /** What the graph writes its checkpoints to. */
  saver: BaseCheckpointSaver;
  /** What graphs keep beside conversations. */
  store: BaseStore;
  /** Receive the run's spans, where the server is traced. */
  tracers: readonly BaseCallbackHandler[];
  /** Counts the model calls of a graph that asks models by itself. */
  usage: UsageHandler | undefined;
  /** What former attempts have streamed of messages; absent in a first attempt. */
  emittedMessages: EmittedMessages | undefined;
  /** Appends to the run's log, which wakes its readers. */
  emit: (event: EventBody) => void;
  /** Runs the graph's stream transformers, for a run of the event protocol. */
  project: Project | undefined;
}

/** How an execution ended: `paused` after an interrupt; `values` are the root's last ones, where they were streamed. */
export interface StreamResult {
  ending: Ending;
  paused: boolean;
  values: Record<string, unknown> | undefined;
}

/** A command of the wire as LangGraph takes it. Throws for one of a wrong form. */
export function toCommand(command: unknown): Command {
  const { resume, update, goto } = RunCommand.parse(command);
  const targets = (Array.isArray(goto) ? goto : [goto ?? []].flat()).map((target) =>
    typeof target === "string" ? target : new Send(target.node, target.input),
  );
  return new Command({
    ...(resume === undefined ? {} : { resume }),
    ...(update === undefined || update === null ? {} : { update }),
    ...(targets.length === 0 ? {} : { goto: targets }),
  });
}

async function inputOf({ run, graph, resume }: GraphStream, lent: JsonObject): Promise<unknown> {
  const { command, input } = run.kwargs;
  if (!resume) return command === undefined ? (input ?? null) : toCommand(await answeredByTask(graph, run, command));
  if (command?.["resume"] === undefined) return null;
  const configurable = { thread_id: run.session_id, graph_id: run.graph_id, ...lent };
  const left = unusedAnswers(command["resume"], await graph.getState({ configurable }, { subgraphs: true }));
  return left === null ? null : new Command({ resume: left });
}

/** What the graph finds in `configurable`: a client's own keys, without those by which LangGraph and this server talk to themselves. */
function configurableOf(
  { run, graph, resume, saver }: GraphStream,
  ofClient: JsonObject,
  lent: JsonObject,
): JsonObject {
  const given = Object.entries({ ...ofClient, ...run.kwargs.checkpoint });
  const keys = Object.fromEntries(given.filter(([key]) => !key.startsWith("__")));
  // A resumed run goes on from its own newest checkpoint; the point it was forked at lies behind that.
  if (resume) for (const key of ["checkpoint_id", "checkpoint_ns", "checkpoint_map"]) delete keys[key];
  return {
    ...keys,
    thread_id: run.session_id,
    run_id: run.run_id,
    assistant_id: run.assistant_id,
    graph_id: run.graph_id,
    ...lent,
    // The key by which LangGraph lends a graph another checkpointer than its own.
    __pregel_checkpointer: checkpointerFor(graph, saver),
  };
}

function optionsOf(execution: GraphStream, plan: StreamPlan, lent: JsonObject) {
  const { active, run, graph, config } = execution;
  const { kwargs } = run;
  const { tracers, usage } = execution;
  const isHandler = usage !== undefined && !receivesModelCalls(usage, graph, active.stop.signal);
  const callbacks = isHandler ? [...tracers, usage] : [...tracers];
  const ownLimit = execution.hasLoop ? execution.recursionLimit : undefined;
  // Where nothing is said, the graph's own LangGraph knows its limit.
  const recursionLimit = config.recursion_limit ?? graph.config?.recursionLimit ?? ownLimit;
  return {
    streamMode: isLegacyGraph(graph) ? legacyStreamModes(plan.modes) : plan.modes,
    subgraphs: plan.subgraphs,
    // By this alone LangGraph gives the checkpoint before each state; of a stream that is not `streamEvents` it reads no more.
    ...(kwargs.protocol === undefined ? {} : { version: "v2" }),
    signal: active.stop.signal,
    // A shutdown uses it to park the graph before its next step.
    control: active.stop.control,
    store: execution.store,
    runId: run.run_id,
    configurable: configurableOf(execution, config.configurable ?? {}, lent),
    context: kwargs.context,
    metadata: { ...config.metadata, ...run.metadata, run_attempt: run.attempt },
    ...(recursionLimit === undefined ? {} : { recursionLimit }),
    durability: kwargs.durability,
    ...(callbacks.length === 0 ? {} : { callbacks }),
    ...(config.tags === undefined ? {} : { tags: config.tags }),
    ...(config.max_concurrency === undefined ? {} : { maxConcurrency: config.max_concurrency }),
    ...(kwargs.interrupt_before === undefined ? {} : { interruptBefore: kwargs.interrupt_before }),
    ...(kwargs.interrupt_after === undefined ? {} : { interruptAfter: kwargs.interrupt_after }),
  };
}

/**
 * The chunks of a graph for a run that asks for the mode `events`; LangChain's events of every runnable come in
 * between. It costs half as much again, so no other run goes this way.
 */
async function* chunksBetweenEvents(
  { active, graph, run, emit }: GraphStream,
  input: unknown,
  options: ReturnType<typeof optionsOf>,
): AsyncGenerator<unknown> {
  for await (const event of graph.streamEvents(input, { ...options, version: "v2" })) {
    if (event.event === "on_chain_stream" && event.run_id === run.run_id) {
      yield event.data.chunk;
      continue;
    }
    if (event.tags?.includes("langsmith:hidden") === true) continue;
    const pending = active.log.room();
    if (pending !== undefined) await pending;
    emit({ event: "events", namespace: [], data: event });
  }
}

/**
 * What a graph streams, of whichever version of LangGraph it is; `onPause` hears of a pause that is not in
 * the stream.
 */
async function streamOf(
  execution: GraphStream,
  modes: readonly StreamMode[],
  onPause: () => void,
): Promise<{ stream: AsyncIterable<unknown>; subgraphs: boolean }> {
  const { active, graph, run } = execution;
  const lent = (await active.companion?.provideConfigurable(active.stop.signal)) ?? {};
  const plan = planStream(modes, run.kwargs.stream_subgraphs, execution.hasLoop);
  const { subgraphs } = plan;
  const options = optionsOf(execution, plan, lent);
  const input = await inputOf(execution, lent);
  const withEvents = run.kwargs.stream_mode.includes("events");
  const stream = withEvents ? chunksBetweenEvents(execution, input, options) : await graph.stream(input, options);
  if (!isLegacyGraph(graph)) return { stream, subgraphs };
  const former = readLegacyStream(stream, plan, async () => {
    const pause = await readPause(graph, run.session_id);
    if (pause.waiting) onPause();
    return pause;
  });
  return { stream: former, subgraphs };
}

/** What follows the stream of a graph besides the agent. */
interface Followers {
  translate: (chunk: GraphChunk) => EventBody[];
  lifecycle: LifecycleEvents | undefined;
  projections: Projections | undefined;
}

/** Emits one chunk of the stream to the run's readers and passes it to all that follow. */
function emitChunk({ active, added, emit }: GraphStream, followers: Followers, chunk: GraphChunk): void {
  for (const event of followers.lifecycle?.onChunk(chunk) ?? []) emit(event);
  for (const event of followers.translate(chunk)) emit(event);
  followers.projections?.onChunk(chunk);
  const [, mode, payload] = chunk;
  if (!active.ended) added?.onChunk(mode, payload);
}

/** The modes in which LangGraph streams interrupts. */
const pauseModes: ReadonlySet<string> = new Set(["values", "updates"]);

/** Streams the graph for one attempt of a run, and its events to the log. Never throws: a failure is an ending. */
export async function streamGraph(execution: GraphStream): Promise<StreamResult> {
  const { active, run, graph, added, emit } = execution;
  const { stream_subgraphs, protocol } = run.kwargs;
  const modes = streamModes.filter((mode) => run.kwargs.stream_mode.includes(mode));
  const followers: Followers = {
    translate: createTranslator(modes, stream_subgraphs, execution.emittedMessages, protocol !== undefined),
    lifecycle: modes.includes("lifecycle") ? createLifecycle() : undefined,
    // Only the event protocol has channels for what stream transformers make.
    projections: protocol === undefined ? undefined : projectionsOf(execution),
  };
  let values: Record<string, unknown> | undefined;
  let interrupts: Interrupt[] | undefined;
  const result = (ending: Ending): StreamResult => {
    const paused = interrupts !== undefined;
    const error = ending.kind === "failed" ? ending.error : undefined;
    const left = followers.lifecycle?.over({ error, paused: paused || ending.kind === "stopped" });
    for (const event of left ?? []) emit(event);
    return { ending, paused, values: paused ? { ...values, __interrupt__: interrupts } : values };
  };
  try {
    const { stream, subgraphs } = await streamOf(execution, modes, () => (interrupts ??= []));
    const replace = added?.chunkReplacer(graph, execution.saver, execution.resume);
    for await (const item of stream) {
      // With a list of modes LangGraph gives pairs, and triples with `subgraphs`.
      const given = (subgraphs ? item : [[], ...(item as [string, unknown])]) as GraphChunk;
      const replaced = replace?.(given, values);
      for (const chunk of replaced === undefined ? [given] : await replaced) {
        const [path, mode, payload] = chunk;
        if (pauseModes.has(mode) && isInterrupted(payload)) interrupts = withAsked(interrupts, payload.__interrupt__);
        // The state of a graph is an object of its channels.
        else if (mode === "values" && path.length === 0) values = payload as Record<string, unknown>;
        const pending = active.log.room();
        if (pending !== undefined) await pending;
        emitChunk(execution, followers, chunk);
      }
    }
    await followers.projections?.ended();
    return result({ kind: "done" });
  } catch (error) {
    followers.projections?.brokeOff(error);
    if (active.stop.signal.aborted || isGraphDrained(error)) return result({ kind: "stopped" });
    // Readers get advice; the details are logged. Of an expected failure without its cause: a provider may have repeated
    // a key in it.
    const about = isAppError(error) ? toRunError(error) : { err: error };
    execution.logger.warn({ ...about, run_id: run.run_id, session_id: run.session_id }, "run_failed");
    return result({ kind: "failed", error: toRunError(error) });
  }
}

/** The stream transformers of the graph at work, where it has any. */
function projectionsOf({ active, run, graph, logger, emit, project }: GraphStream): Projections | undefined {
  const { run_id, session_id } = run;
  return project?.({
    graph,
    signal: active.stop.signal,
    emit,
    failed: (err) => logger.warn({ err, run_id, session_id }, "stream_transformer_failed"),
  });
}

/** The open questions: each task streams its own, and the graphs around it repeat them. */
function withAsked(known: readonly Interrupt[] = [], asked: readonly Interrupt[]): Interrupt[] {
  return [...known, ...asked.filter(({ id }) => id === undefined || known.every((one) => one.id !== id))];
}
